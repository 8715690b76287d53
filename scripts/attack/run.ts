import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, Failure, Outcome } from './attack.ts'
import { startDoubles } from './doubles.ts'
import { fuzzContract } from './fuzz-contract.ts'
import type { Options } from './options.ts'
import type { Row } from './table.ts'
import { startTarget, type Target } from './target.ts'
import { processMiB, watch } from './watch.ts'

type Running = Options & { folder: string; onStart: (name: string) => void }

/** What is refused because of its time is refused within this run. */
const limits = {
  requests_per_minute: 100_000_000,
  request_timeout_ms: 2000,
  linger_timeout_ms: 500,
}
const peakMiBMax = 600
/** How long a gateway may take to give back what the attacks made it take, but for so much. */
const settleMs = { full: 30_000, quick: 0 }
const leftMiBMax = 100
const healthMsMax = 1000

/** Runs attacks one after the other against one gateway, which has to outlive them all. */
export async function runAttacks({ attacks, onStart, ...options }: Running): Promise<Row[]> {
  const { project, folder, dose } = options
  const doubles = await startDoubles()
  const { own: upstream, variables } = doubles
  const target = await startTarget({ project, folder, upstream, variables, limits })
  // What the first requests load and compile is not what an attack leaves behind.
  await fuzzContract.run({ ...options, target, dose: 'quick' })
  const startMiB = processMiB(target.processId)
  const rows: Row[] = []
  for (const attack of attacks) {
    onStart(attack.name)
    const watching = attack.isAlone ? undefined : watch(target)
    const outcome = await outcomeOf(attack, { ...options, target })
    const watched = await watching?.stop()
    outcome.failures.push(...(await lifeFaults(target)))
    rows.push({ name: attack.name, outcome, watched })
  }
  const peakMiB = Math.max(...rows.map(({ watched }) => watched?.peakMiB ?? 0))
  const leftMiB = await settled(target, startMiB + leftMiBMax, settleMs[dose])
  rows.push(memoryRow({ startMiB, peakMiB, leftMiB }))
  await target.stop()
  await doubles.stop()
  return rows
}

/** What became of an attack; one that breaks has not held. */
async function outcomeOf(attack: Attack, context: Parameters<Attack['run']>[0]): Promise<Outcome> {
  try {
    return await attack.run(context)
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { tried: 1, failures: [{ what, request: '' }] }
  }
}

/** Whether the gateway lives, and answers as soon as before. */
async function lifeFaults({ url, ended }: Target): Promise<Failure[]> {
  const startedAt = performance.now()
  const health = fetch(`${url}/health`).then(
    ({ status }) => (status === 200 ? undefined : `/health answers ${status}.`),
    (error: Error) => `/health does not answer: ${error.message}.`,
  )
  const dead = ended.then(({ code, signal }) => `The gateway ended with ${code ?? signal}.`)
  const late = sleep(healthMsMax * 10).then(() => 'Afterwards /health does not answer.')
  const what = await Promise.race([health, dead, late])
  const durationMs = performance.now() - startedAt
  if (what !== undefined) return [{ what, request: '' }]
  if (durationMs <= healthMsMax) return []
  return [{ what: `Afterwards /health took ${durationMs.toFixed(0)} ms.`, request: '' }]
}

/** The memory of a gateway once it is at or below a mark, or when it had its time. */
async function settled({ processId }: Target, goalMiB: number, limitMs: number): Promise<number> {
  const giveUpAt = performance.now() + limitMs
  while (processMiB(processId) > goalMiB && performance.now() < giveUpAt) await sleep(500)
  return processMiB(processId)
}

function memoryRow(seen: { startMiB: number; peakMiB: number; leftMiB: number }): Row {
  const { startMiB, peakMiB, leftMiB } = seen
  const [start, peak, left] = [startMiB, peakMiB, leftMiB].map((value) => `${value.toFixed(0)} MiB`)
  const failures = [
    ...(peakMiB > peakMiBMax ? [`The gateway took ${peak} at its peak, from ${start}.`] : []),
    ...(leftMiB > startMiB + leftMiBMax
      ? [`The gateway keeps ${left} behind the attacks, from ${start}.`]
      : []),
  ].map((what) => ({ what, request: '' }))
  const figures = { 'at the start': start!, peak: peak!, afterwards: left! }
  return { name: 'memory', outcome: { tried: 2, failures, figures }, watched: undefined }
}
