/** The code of the worker thread that watch.ts starts. */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { descriptorsOf, processPeakMiB } from './watch.ts'

const { processId, url } = workerData as { processId: number; url: string }
const intervalMs = 25
const timeoutMs = 10_000
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const over = new AbortController()
parentPort!.once('message', () => over.abort())

let descriptorsMax = 0
let peakMiB = 0
let pauseMsMax = 0
while (!over.signal.aborted) {
  const startedAt = performance.now()
  await askHealth()
  pauseMsMax = Math.max(pauseMsMax, performance.now() - startedAt)
  descriptorsMax = Math.max(descriptorsMax, descriptorsOf(processId))
  // Keeps the maximum, because `dosed` resets the kernel's peak counter between doses.
  peakMiB = Math.max(peakMiB, processPeakMiB(processId))
  await sleep(intervalMs)
}
agent.destroy()
parentPort!.postMessage({ peakMiB, descriptorsMax, pauseMsMax })

/** Resolves after an answer, an error or the timeout, because only the time is measured. */
function askHealth(): Promise<void> {
  return new Promise((resolve) => {
    const asked = request(`${url}/health`, { agent, timeout: timeoutMs }, (response) => {
      response.resume().once('close', resolve)
    })
    asked.once('timeout', () => asked.destroy())
    asked.once('error', () => resolve())
    asked.end()
  })
}
