import type { Measured } from './measure.ts'
import { bookkeeping, type Measure, type Target, type Workload } from './workloads.ts'

export type Result = { workload: Workload; measured: Measured[] }

const columns = [
  'workload',
  'process',
  'CPU us/request',
  'ratio',
  'CPU ms/report',
  'p50 ms',
  'p99 ms',
  'p99 ratio',
  'added p50 ms',
  'peak MiB',
  'added MiB',
  'forced GC',
  'requests/round',
  'others %',
  'target',
  'verdict',
]

/** A Markdown table that also reads well in a terminal. */
export const table = (results: Result[]): string => {
  const rows = [columns, ...results.flatMap(rowsOf)]
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [head = '', ...body] = rows.map(line)
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')
}

/** A line with the CPU time per call of identification, limits and ledger; empty if not measured. */
export const bookkeepingLine = (results: Result[]): string => {
  const result = results.find(({ workload }) => workload.name === bookkeeping)
  const [bare, booked] = (['bare', 'booked'] as const).map((name) =>
    result?.measured.find(({ candidate }) => candidate === name),
  )
  if (bare === undefined || booked === undefined) return ''
  return `Bookkeeping: ${shown(booked.cpuUs - bare.cpuUs, 1)} us of CPU a call.`
}

/** Average share of the driver's core and of the measured core that other processes used. */
export const othersPercent = (rows: Measured[]): [number, number] => {
  // At least 0: the kernel samples a core's busy time, which may be below our processes' CPU time.
  const average = (read: (row: Measured) => number): number => {
    const reported = rows.map(read).filter((share) => !Number.isNaN(share))
    return (100 * reported.reduce((sum, share) => sum + Math.max(0, share), 0)) / reported.length
  }
  return [average((row) => row.othersOnDriverCore), average((row) => row.othersOnMeasuredCore)]
}

const rowsOf = ({ workload, measured }: Result): string[][] => {
  const named = (name: string): Measured | undefined =>
    measured.find(({ candidate }) => candidate === name)
  const direct = named('direct')
  return measured.map((row) => {
    const against = named(workload.against ?? 'floor')
    const values: Record<Measure, number> = {
      ratio: row.cpuUs / (against?.cpuUs ?? Number.NaN),
      p99Ratio: row.p99Ms / (against?.p99Ms ?? Number.NaN),
      addedP50Ms: row.p50Ms - (direct?.p50Ms ?? Number.NaN),
      peakMiB: row.peakMiB,
      addedMiB: row.addedMiB,
    }
    const isProxy = row !== direct
    const target = row.candidate === workload.target.of ? workload.target : undefined
    return [
      workload.name,
      row.candidate,
      isProxy ? shown(row.cpuUs, 1) : '',
      isProxy ? shown(values.ratio, 2) : '',
      Number.isNaN(row.reportCpuMs) ? '' : shown(row.reportCpuMs, 1),
      shown(row.p50Ms, 2),
      shown(row.p99Ms, 2),
      target?.most.p99Ratio === undefined ? '' : shown(values.p99Ratio, 2),
      isProxy && direct ? shown(values.addedP50Ms, 3) : '',
      isProxy ? shown(values.peakMiB, 0) : '',
      Number.isNaN(values.addedMiB) ? '' : shown(values.addedMiB, 0),
      Number.isNaN(row.forcedCollections) ? '' : shown(row.forcedCollections, 0),
      shown(row.requests, 0),
      shown(Math.max(...othersPercent([row])), 0),
      target ? asked(target) : '',
      target ? verdict(target, values) : '',
    ]
  })
}

const units: Record<Measure, string> = {
  p99Ratio: ' x p99',
  ratio: 'x',
  addedP50Ms: ' ms added',
  peakMiB: ' MiB',
  addedMiB: ' MiB added',
}

// Object.entries widens the keys to strings.
const limitsOf = ({ most }: Target): [Measure, number][] =>
  Object.entries(most) as [Measure, number][]

const asked = (target: Target): string =>
  limitsOf(target)
    .map(([measure, most]) => `<= ${most}${units[measure]}`)
    .join(', ')

const verdict = (target: Target, values: Record<Measure, number>): string => {
  const limits = limitsOf(target)
  const missed = limits.filter(([measure, most]) => values[measure] > most)
  if (missed.length) return `missed (${missed.map(([measure]) => measure).join(', ')})`
  return limits.some(([measure]) => Number.isNaN(values[measure])) ? 'n/a' : 'met'
}

export const shown = (value: number, digits: number): string =>
  Number.isNaN(value) ? 'n/a' : value.toFixed(digits)
