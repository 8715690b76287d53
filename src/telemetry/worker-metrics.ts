import { setTimeout as sleep } from 'node:timers/promises'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { PrimaryLine } from '../peers/primary-line.ts'
import type { WorkerId, WorkerLines } from '../peers/worker-lines.ts'
import type { Metrics } from './metrics.ts'

/** The metrics of one process as objects, which can be added to those of others. */
type Reading = readonly {
  name: string
  help: string
  type: string
  /** How it is added: its sum, its mean, and so on. */
  aggregator: string
  values: readonly { value: number; labels: object }[]
}[]

/** What the primary gives a worker that is asked, to be added to its own. */
type Others = {
  /** Of the workers that answered in time, and of those that have ended. */
  readings: Reading[]
  workers: number
  /** Workers that did not answer. */
  unread: number
  ended: number
}

const topics = { others: 'metrics_of_others', own: 'metrics' } as const

type Parts = {
  metrics: Pick<Metrics, 'readObjects'>
  primary: PrimaryLine
  /** Processes that there should be. */
  count: number
}

/** Gives the metrics of all workers as one page; without those that do not answer in time. */
export function readSum({ metrics, primary, count }: Parts): Metrics['read'] {
  const readOwn = async () => (await metrics.readObjects()) as unknown as Reading
  primary.answer(topics.own, readOwn)
  return async () => {
    const own = await readOwn()
    const alone: Others = { readings: [], workers: 1, unread: count - 1, ended: 0 }
    // Only the primary of this program answers.
    const asked = primary.ask(topics.others, own) as Promise<Others>
    const { readings, ...counts } = await asked.catch(() => alone)
    const sum = added([own, ...readings, workerMetrics(counts)])
    return { contentType, text: await sum.metrics() }
  }
}

const { contentType } = new Registry()

function added(readings: readonly Reading[]) {
  // The package's type is that of metrics without values, which its code needs.
  return AggregatorRegistry.aggregate(readings as unknown as object[])
}

function workerMetrics({ workers, unread, ended }: Omit<Others, 'readings'>): Reading {
  const one = (type: 'gauge' | 'counter', name: string, help: string, value: number) => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  })
  return [
    one('gauge', 'gateway_workers', 'Workers that there are.', workers),
    one('gauge', 'gateway_workers_unread', 'Workers that are missing on this page.', unread),
    one('counter', 'gateway_workers_ended_total', 'Workers that ended.', ended),
  ]
}

type Options = { lines: WorkerLines; answerTimeoutMs: number }

/**
 * Collects the metrics of workers for the one that is asked. What a worker that has ended had counted
 * stays in the sums, as of the last page, so that no counter falls.
 */
export function collectMetrics({ lines, answerTimeoutMs }: Options): void {
  const last = new Map<number, Reading>()
  let ofEnded: Reading = []
  let ended = 0
  const readOne = async (worker: WorkerId): Promise<Reading | undefined> => {
    // Who asks waits for as long as that in all.
    const late = sleep(answerTimeoutMs / 2, undefined, { ref: false })
    const answer = lines.ask(worker, topics.own, null).catch(() => undefined)
    // Only workers of this program answer.
    const reading = (await Promise.race([answer, late])) as Reading | undefined
    if (reading !== undefined) last.set(worker.id, reading)
    return reading
  }
  lines.answer(topics.others, async (own, asker): Promise<Others> => {
    last.set(asker.id, own as Reading)
    const workers = lines.workers()
    const read = await Promise.all(workers.filter(({ id }) => id !== asker.id).map(readOne))
    const readings = read.filter((reading) => reading !== undefined)
    const unread = read.length - readings.length
    return { readings: [...readings, ofEnded], workers: workers.length, unread, ended }
  })
  lines.onEnded(({ id }) => {
    ended++
    const reading = last.get(id)
    last.delete(id)
    if (reading !== undefined) ofEnded = sumOf(ofEnded, reading.filter(isCount))
  })
}

/** What only grows; what a process has at the moment ends with it. */
const isCount = ({ type }: Reading[number]): boolean => type === 'counter' || type === 'histogram'

function sumOf(one: Reading, other: Reading): Reading {
  // What `aggregate` has added it gives at once.
  const sums = added([one, other]).getMetricsAsArray() as unknown as { get(): Reading[number] }[]
  return sums.map((metric) => metric.get())
}
