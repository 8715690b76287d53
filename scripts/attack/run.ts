import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack, Context, Failure, Outcome } from './attack.ts'
import { startDoubles } from './doubles.ts'
import { fuzzContract } from './fuzz-contract.ts'
import type { Options } from './options.ts'
import type { Row } from './table.ts'
import type { Program } from '../../test/support/program.ts'
import { prepareStore, startTarget, type Target } from './target.ts'
import { processMiB, processPeakMiB, watch } from './watch.ts'

type Running = Options & { folder: string; onStart: (name: string) => void }

/** A small memory limit, which small doses exceed, and a small cache, which does not count as a leak. */
const limits = {
  requests_per_minute: 100_000_000,
  buffered_bytes_max: 64 * 1024 * 1024,
  cache_bytes_max: 8 * 1024 * 1024,
  route_tries_max: 1,
}
/** Short timeouts, so that slow requests end within a run. */
const hurriedLimits = {
  request_timeout_ms: 2000,
  keep_alive_timeout_ms: 2000,
  chat_timeout_ms: 4000,
  upstream_idle_timeout_ms: 2000,
}
const peakMiBMax = 600
/** Time in which the gateway must free all memory but `leftMiBMax` after the attacks. */
const settleMs = 30_000
const leftMiBMax = 100
const healthMsMax = 1000
/** Time limit of the first start. Later starts may take `startTimes` the time of the first start. */
const firstStartMsMax = 300_000
const startTimes = 20
const startMsMin = 30_000

/** Runs attacks one after another, and checks that the gateways survive the attacks. */
export async function runAttacks({ attacks, onStart, ...options }: Running): Promise<Row[]> {
  const { project, folder } = options
  const prepared = await prepareStore({ project, folder })
  const doubles = await startDoubles()
  const programs: Pick<Program, 'killGroup' | 'ended'>[] = []
  const endAll = () => programs.forEach(({ killGroup }) => killGroup())
  process.once('exit', endAll)
  let startTimeoutMs = firstStartMsMax
  const start: Context['start'] = async (more = {}) => {
    const begunAt = performance.now()
    const target = await startTarget({
      project,
      folder,
      doubles,
      prepared,
      startTimeoutMs,
      onProcess: (program) => programs.push(program),
      ...more,
      limits: { ...limits, ...more.limits },
    })
    if (startTimeoutMs === firstStartMsMax) {
      startTimeoutMs = Math.max(startMsMin, startTimes * (performance.now() - begunAt))
    }
    return target
  }
  try {
    return await runAll(attacks, onStart, { ...options, start, asked: doubles.asked })
  } finally {
    // Ends all gateways, including those of an attack that threw and those that did not start in time.
    endAll()
    process.off('exit', endAll)
    await Promise.all(programs.map(({ ended }) => ended))
    await doubles.stop()
  }
}

async function runAll(
  attacks: readonly Attack[],
  onStart: Running['onStart'],
  options: Omit<Context, 'target'>,
): Promise<Row[]> {
  const { start, dose } = options
  const target = await start()
  const context = { ...options, target }
  // Makes the gateway load all code first, so that lazily loaded code does not count as a leak of the full dose.
  if (dose === 'full') await fuzzContract.run({ ...context, dose: 'quick' })
  const startMiB = processMiB(target.processId)
  const rows: Row[] = []
  if (dose === 'quick') rows.push(...(await quickRows(attacks, context)))
  for (const attack of dose === 'quick' ? [] : attacks) {
    onStart(attack.name)
    rows.push(await rowOf(attack, context))
  }
  const peaksMiB = rows.map(({ watched }) => watched?.peakMiB ?? 0)
  const peakMiB = Math.max(processPeakMiB(target.processId), ...peaksMiB)
  const goalMiB = startMiB + leftMiBMax
  // The quick dose does not measure freed memory, because the tests would have to wait for it.
  const leftMiB = dose === 'quick' ? Number.NaN : await settled(target, goalMiB, settleMs)
  const row = memoryRow({ startMiB, peakMiB, leftMiB })
  row.outcome.failures.push(...(await healthFaults(target)))
  rows.push(row)
  return rows
}

async function rowOf(attack: Attack, context: Context): Promise<Row> {
  const { needsFresh, isHurried } = attack
  const isOwn = needsFresh || isHurried
  const target = isOwn ? await context.start(settingsOf(attack)) : context.target
  const watching = watch(target)
  const outcome = await outcomeOf(attack, { ...context, target })
  const watched = await watching.stop()
  outcome.failures.push(...(await healthFaults(target)))
  if (isOwn) await target.stop()
  return { name: attack.name, outcome, watched }
}

function settingsOf({ isHurried }: Attack): Parameters<Context['start']>[0] {
  return isHurried ? { limits: hurriedLimits } : {}
}

/** Runs attacks one after another. Attacks that mostly wait run at the same time on a second gateway. */
async function quickRows(attacks: readonly Attack[], context: Context): Promise<Row[]> {
  const target = await context.start({ limits: hurriedLimits })
  const hurried = attacks.filter(({ isHurried }) => isHurried)
  const waiting = Promise.all(hurried.map((attack) => quickRow(attack, { ...context, target })))
  const rows: Row[] = []
  for (const attack of attacks) if (!attack.isHurried) rows.push(await quickRow(attack, context))
  rows.push(...(await waiting))
  await target.stop()
  return rows
}

async function quickRow(attack: Attack, context: Context): Promise<Row> {
  return { name: attack.name, outcome: await outcomeOf(attack, context), watched: undefined }
}

/** The outcome of an attack; an attack that throws counts as a failure. */
async function outcomeOf(attack: Attack, context: Parameters<Attack['run']>[0]): Promise<Outcome> {
  try {
    return await attack.run(context)
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { tried: 1, failures: [{ what, request: '' }] }
  }
}

/** How the gateway is harmed after an attack: it ended, or /health is slow or fails. */
async function healthFaults({ url, ended }: Target): Promise<Failure[]> {
  const startedAt = performance.now()
  const health = fetch(`${url}/health`).then(
    ({ status }) => (status === 200 ? undefined : `/health answers ${status}.`),
    (error: Error) => `/health does not answer: ${error.message}.`,
  )
  const dead = ended.then(({ code, signal }) => `The gateway ended with ${code ?? signal}.`)
  const late = sleep(healthMsMax * 10).then(() => 'After the attack /health does not answer.')
  const what = await Promise.race([health, dead, late])
  const durationMs = performance.now() - startedAt
  if (what !== undefined) return [{ what, request: '' }]
  if (durationMs <= healthMsMax) return []
  return [{ what: `After the attack /health took ${durationMs.toFixed(0)} ms.`, request: '' }]
}

/** Waits until memory is at or below a goal, at most `limitMs`; returns the memory. */
async function settled({ processId }: Target, goalMiB: number, limitMs: number): Promise<number> {
  const giveUpAt = performance.now() + limitMs
  while (processMiB(processId) > goalMiB && performance.now() < giveUpAt) await sleep(500)
  return processMiB(processId)
}

function memoryRow(seen: { startMiB: number; peakMiB: number; leftMiB: number }): Row {
  const { startMiB, peakMiB, leftMiB } = seen
  const [start, peak, left] = [startMiB, peakMiB, leftMiB].map((value) => `${value.toFixed(0)} MiB`)
  const failures = [
    ...(peakMiB > peakMiBMax ? [`Memory peaked at ${peak}, from ${start} at the start.`] : []),
    ...(leftMiB > startMiB + leftMiBMax
      ? [`Memory is ${left} after the attacks, from ${start} at the start.`]
      : []),
  ].map((what) => ({ what, request: '' }))
  const figures = { 'at the start': start!, peak: peak!, afterwards: left! }
  return { name: 'memory', outcome: { tried: 2, failures, figures }, watched: undefined }
}
