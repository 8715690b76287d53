import { readdirSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { processMiB, processPeakMiB } from '../bench/kernel-counters.ts'

/** What a process took while it was watched. */
export type Watched = { peakMiB: number; descriptorsMax: number; pauseMsMax: number }

export type Watch = { stop(): Promise<Watched> }

/**
 * Watches a gateway from a thread of its own, which the load on this one does not hold up: its memory, its
 * descriptors, and how long `/health` takes at most.
 */
export function watch({ processId, url }: { processId: number; url: string }): Watch {
  resetPeak(processId)
  const worker = new Worker(new URL('./watch-thread.ts', import.meta.url), {
    workerData: { processId, url },
  })
  const told = new Promise<Watched>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject)
  })
  return {
    stop: async () => {
      worker.postMessage('stop')
      const watched = await told
      await worker.terminate()
      return watched
    },
  }
}

/** Begins to count the peak of a process anew, where Linux lets us (proc(5), clear_refs). */
export function resetPeak(processId: number): void {
  try {
    writeFileSync(`/proc/${processId}/clear_refs`, '5')
  } catch {
    // The peak is then that of its whole life.
  }
}

/** How many descriptors a process has open; NaN where there is no /proc. */
export function descriptorsOf(processId: number): number {
  try {
    return readdirSync(`/proc/${processId}/fd`).length
  } catch {
    return Number.NaN
  }
}

export { processMiB, processPeakMiB }
