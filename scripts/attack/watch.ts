import { readdirSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { processMiB, processPeakMiB } from '../bench/kernel-counters.ts'

/** Peak memory, descriptors and the longest /health time of a watched process. */
export type Watched = { peakMiB: number; descriptorsMax: number; pauseMsMax: number }

export type Watch = { stop(): Promise<Watched> }

/**
 * Measures a gateway's memory, descriptors and the longest time of `/health`, from a worker thread that
 * the load on this thread does not delay.
 */
export function watch({ processId, url }: { processId: number; url: string }): Watch {
  resetPeak(processId)
  const worker = new Worker(new URL('./watch-thread.ts', import.meta.url), {
    workerData: { processId, url },
  })
  const measured = new Promise<Watched>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject)
  })
  return {
    stop: async () => {
      worker.postMessage('stop')
      const watched = await measured
      await worker.terminate()
      return watched
    },
  }
}

/** Resets the peak memory of a process (proc(5), clear_refs). */
export function resetPeak(processId: number): void {
  try {
    writeFileSync(`/proc/${processId}/clear_refs`, '5')
  } catch {
    // Without permission to reset, the peak covers the whole lifetime of the process.
  }
}

/** The number of open descriptors of a process; NaN without /proc. */
export function descriptorsOf(processId: number): number {
  try {
    return readdirSync(`/proc/${processId}/fd`).length
  } catch {
    return Number.NaN
  }
}

export { processMiB, processPeakMiB }
