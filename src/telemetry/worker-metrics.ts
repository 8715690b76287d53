import { setTimeout as sleep } from 'node:timers/promises'
import { AggregatorRegistry } from 'prom-client'

/** The metrics of one process as objects, which can be added to those of other processes. */
export type Reading = readonly {
  name: string
  help: string
  type: string
  /** How the values of several workers are combined: sum, average and so on. */
  aggregator: string
  values: readonly { value: number; labels: object }[]
}[]

/** Time limit for the answers of workers; gauges of a later worker are missing. */
const answerTimeoutMs = 500

/**
 * Sums the metrics of workers. The last counters and histograms of a worker that has ended, or does not
 * answer, stay in the sums, so that no counter falls.
 */
export function createWorkerMetrics(ask: (worker: number) => void) {
  /** The last answer of each worker. */
  const last = new Map<number, Reading>()
  const pending = new Map<number, PromiseWithResolvers<void>>()
  let ofEnded: Reading = []
  let ended = 0
  const askOnce = (worker: number): Promise<void> => {
    const asked = pending.get(worker)
    if (asked !== undefined) return asked.promise
    const answer = Promise.withResolvers<void>()
    pending.set(worker, answer)
    ask(worker)
    return answer.promise
  }
  const settle = (worker: number): void => {
    pending.get(worker)?.resolve()
    pending.delete(worker)
  }
  return {
    joined: (worker: number) => void last.set(worker, []),
    answered: (worker: number, reading: Reading): void => {
      last.set(worker, reading)
      settle(worker)
    },
    ended: (worker: number): void => {
      const reading = last.get(worker)
      if (reading === undefined) return
      settle(worker)
      last.delete(worker)
      ended++
      ofEnded = sumOf([ofEnded, reading.filter(isCount)])
    },
    /** The metrics of all workers as text. */
    read: async (): Promise<string> => {
      const answers = Promise.all([...last.keys()].map(askOnce))
      await Promise.race([answers, sleep(answerTimeoutMs, undefined, { ref: false })])
      const readings = [...last].map(([worker, reading]) =>
        pending.has(worker) ? reading.filter(isCount) : reading,
      )
      const counts = { workers: last.size, unread: pending.size, ended }
      return added([...readings, ofEnded, ownMetrics(counts)]).metrics()
    },
  }
}

/** Whether a metric stays in the sums after its worker ends; a gauge describes the present only. */
const isCount = ({ type }: Reading[number]): boolean => type === 'counter' || type === 'histogram'

function added(readings: readonly Reading[]) {
  // The package's type describes metrics without values, but its code needs values.
  return AggregatorRegistry.aggregate(readings as unknown as object[])
}

function sumOf(readings: readonly Reading[]): Reading {
  // An aggregated registry returns its values synchronously.
  const sums = added(readings).getMetricsAsArray() as unknown as { get(): Reading[number] }[]
  return sums.map((metric) => metric.get())
}

function ownMetrics({ workers, unread, ended }: Record<'workers' | 'unread' | 'ended', number>) {
  const one = (type: 'gauge' | 'counter', name: string, help: string, value: number) => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  })
  return [
    one('gauge', 'gateway_workers', 'Workers that answer.', workers),
    one('gauge', 'gateway_workers_unread', 'Workers that are missing on this page.', unread),
    one('counter', 'gateway_workers_ended_total', 'Workers that ended.', ended),
  ]
}
