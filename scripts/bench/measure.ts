import type { Candidate } from './candidates.ts'
import { bothCores, driverCore, measuredCore, type Children } from './children.ts'
import { expectationFor, type Expectation } from './expectation.ts'
import { holdStreams } from './hold.ts'
import {
  coreBusyUs,
  processCpuUs,
  processesCpuUs,
  processMiB,
  processPeakMiB,
} from './kernel-counters.ts'
import { openLoad, type Load } from './load.ts'
import { requestFor } from './request.ts'
import { startServer, withoutKey, withTwin, type Server, type Started } from './server.ts'
import { median, quantile } from './statistics.ts'
import { askForReports, makeReports } from './usage-history.ts'
import type { Workload } from './workloads.ts'

export type Bench = Started & {
  rounds: number
  seconds: number
  nextCounter: () => number
}

/** One measurement of a process under a workload. NaN means that the system does not report the value. */
type Sample = {
  requests: number
  cpuUs: number
  p50Ms: number
  p99Ms: number
  /** The share of each core that other programs used. */
  othersOnDriverCore: number
  othersOnMeasuredCore: number
  /** Growth of the process's memory; only for workloads that measure it. */
  addedMiB: number
  /** CPU time of one report of 30 days, on an idle gateway. */
  reportCpuMs: number
}

/** The medians of a process's samples. */
export type Measured = Sample & {
  candidate: Candidate
  peakMiB: number
  forcedCollections: number
}

/** The equivalent kind of request to `/v1/chat/completions` or the images API. */
const httpKinds: Partial<Record<Workload['kind'], Workload['kind']>> = {
  'tool-chat': 'chat',
  response: 'chat',
  message: 'chat',
  'response-stream': 'stream',
  'message-stream': 'stream',
  'tool-image': 'image',
}

/** Measures each candidate in its own process, in turn, so that other load affects all candidates. */
export const measure = async (
  bench: Bench,
  workload: Workload,
  candidates: Candidate[],
): Promise<Measured[]> => {
  const servers: { server: Server; samples: Sample[] }[] = []
  for (const candidate of candidates)
    servers.push({ server: await startServer(bench, workload, candidate), samples: [] })
  // `hold` needs one round, because memory grows only in the first round.
  const rounds = workload.kind === 'hold' ? 1 : bench.rounds
  for (let round = 0; round < rounds; round += 1) {
    // Each second round runs backwards: the same process costs up to a tenth more after one process than after another.
    const turns = round % 2 === 0 ? servers : servers.toReversed()
    for (const { server, samples } of turns) {
      const isFirst = round === 0
      if (workload.kind === 'hold') samples.push(await takeHoldSample(bench, workload, server))
      else samples.push(await takeSample(bench, { workload, server, isFirst }))
    }
  }
  const measured: Measured[] = []
  for (const { server, samples } of servers)
    measured.push({
      ...mediansOf(samples),
      candidate: server.candidate,
      peakMiB: processPeakMiB(server.child.processId),
      forcedCollections: await forcedCollections(server),
    })
  for (const { server } of servers)
    for (const { child } of withTwin(server))
      if (child !== bench.upstream) await bench.children.stop(child)
  return measured
}

/** Collections that memory pressure forced in a gateway; NaN for other processes. */
const forcedCollections = async ({ port, key }: Server): Promise<number> => {
  if (key === withoutKey) return Number.NaN
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined)
  const text = answer?.ok ? await answer.text() : ''
  const count = /^gateway_forced_collections_total\{cause="memory"[^}]*\} (\d+)$/m.exec(text)
  const isCounted = text.includes('gateway_forced_collections_total')
  return isCounted ? Number(count?.[1] ?? 0) : Number.NaN
}

const takeSample = async (
  bench: Bench,
  { workload, server, isFirst }: { workload: Workload; server: Server; isFirst: boolean },
): Promise<Sample> => {
  const { candidate } = server
  const { by, things } = workload.repeats ?? { things: 1 }
  const kind = kindFor(workload, candidate)
  const expectation = expectationFor({ ...workload, kind })
  const hasReports = workload.historyRows !== undefined && candidate !== 'quiet'
  // Measured before connections are opened, since the gateway would close them as idle.
  const reportCpuMs = hasReports ? await costOfReport(server) : Number.NaN
  const servers = withTwin(server)
  const loads = await Promise.all(
    servers.map((one) =>
      openLoad({
        port: one.port,
        connections: workload.connections / servers.length,
        request: requestFor({ kind }, one),
        nextCounter: by === candidate ? () => bench.nextCounter() % things : bench.nextCounter,
      }),
    ),
  )
  const load: Load = {
    run: async (forMs, check) => {
      const latenciesMs = await Promise.all(loads.map((one) => one.run(forMs, check)))
      return latenciesMs.flat()
    },
    close: () => loads.forEach((one) => one.close()),
  }
  try {
    await load.run(0, expectation.checkFully)
    const run = () => countedRun(bench, { server, load, expectation })
    if (isFirst) await warmUp(run)
    else await load.run(bench.seconds * 100, expectation.checkQuickly)
    return hasReports ? { ...(await withReports(server, run)), reportCpuMs } : await run()
  } finally {
    load.close()
  }
}

const warmUpRuns = { least: 4, most: 12 }

/**
 * Runs until the CPU time of a request stops falling, because V8 has then compiled the code. A fixed time
 * would give a slow process fewer requests to warm up with than a fast one.
 */
const warmUp = async (run: () => Promise<Sample>): Promise<void> => {
  let before = Infinity
  for (let runs = 1; runs <= warmUpRuns.most; runs += 1) {
    const { cpuUs } = await run()
    if (runs >= warmUpRuns.least && cpuUs > before * 0.9) return
    before = cpuUs
  }
}

const reportsAlone = 20

/** CPU time in milliseconds of one report, on an idle gateway. */
const costOfReport = async (server: Server): Promise<number> => {
  const before = processCpuUs(server.child.processId)
  await makeReports(server, reportsAlone)
  return (processCpuUs(server.child.processId) - before) / reportsAlone / 1000
}

/** Requests reports while `run` runs. */
const withReports = async (server: Server, run: () => Promise<Sample>): Promise<Sample> => {
  const reports = askForReports(server)
  const sample = await run()
  await reports.stop()
  return sample
}

const kindFor = ({ kind, wire }: Workload, candidate: Candidate): Workload['kind'] => {
  if (wire && kind === 'stream' && candidate === 'floor') return 'vendor-stream'
  return (candidate === 'http' ? httpKinds[kind] : undefined) ?? kind
}

/** Measures the memory of idle open streams. */
const takeHoldSample = async (
  { children }: Bench,
  { connections }: Workload,
  server: Server,
): Promise<Sample> => {
  const { processId } = server.child
  // Opens streams before the measurement, so that loading modules is not measured.
  for (const stream of await holdStreams(server, 50)) stream.destroy()
  const before = readCounters(children, server)
  const beforeMiB = processMiB(processId)
  const streams = await holdStreams(server, connections)
  const after = readCounters(children, server)
  const addedMiB = processMiB(processId) - beforeMiB
  for (const stream of streams) stream.destroy()
  return {
    requests: connections,
    cpuUs: (after.cpuUs - before.cpuUs) / connections,
    p50Ms: Number.NaN,
    p99Ms: Number.NaN,
    othersOnDriverCore: 0,
    othersOnMeasuredCore: 0,
    addedMiB,
    reportCpuMs: Number.NaN,
  }
}

/** Reads the counters between requests, so that they cover whole requests. */
const countedRun = async (
  { children, seconds }: Bench,
  { server, load, expectation }: { server: Server; load: Load; expectation: Expectation },
): Promise<Sample> => {
  const before = readCounters(children, server)
  const latenciesMs = await load.run(seconds * 1000, expectation.checkQuickly)
  const after = readCounters(children, server)
  const elapsedUs = after.clockUs - before.clockUs
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  return {
    requests: sorted.length,
    cpuUs: (after.cpuUs - before.cpuUs) / sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    othersOnDriverCore: (after.othersOnDriverCoreUs - before.othersOnDriverCoreUs) / elapsedUs,
    othersOnMeasuredCore:
      (after.othersOnMeasuredCoreUs - before.othersOnMeasuredCoreUs) / elapsedUs,
    addedMiB: Number.NaN,
    reportCpuMs: Number.NaN,
  }
}

const readCounters = ({ alive }: Children, server: Server) => {
  const oursUs = (core: number): number =>
    // Unknown for a process on both cores: the system does not report on which core it ran.
    [...alive].some((ours) => ours.core === bothCores)
      ? Number.NaN
      : [...alive]
          .filter((ours) => ours.core === core)
          .reduce((sumUs, ours) => sumUs + processCpuUs(ours.processId), 0)
  return {
    clockUs: performance.now() * 1000,
    cpuUs: withTwin(server).reduce(
      (sumUs, { child }) => sumUs + processesCpuUs(child.processId),
      0,
    ),
    othersOnDriverCoreUs: coreBusyUs(driverCore) - oursUs(driverCore) - processCpuUs(process.pid),
    othersOnMeasuredCoreUs: coreBusyUs(measuredCore) - oursUs(measuredCore),
  }
}

const mediansOf = (samples: Sample[]): Sample => {
  const of = (read: (sample: Sample) => number): number => median(samples.map(read))
  return {
    requests: of(({ requests }) => requests),
    cpuUs: of(({ cpuUs }) => cpuUs),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    othersOnDriverCore: of((sample) => sample.othersOnDriverCore),
    othersOnMeasuredCore: of((sample) => sample.othersOnMeasuredCore),
    addedMiB: of((sample) => sample.addedMiB),
    reportCpuMs: of((sample) => sample.reportCpuMs),
  }
}
