import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type GaugeConfiguration,
  type HistogramConfiguration,
} from 'prom-client'
import { contractInfo } from '../../generated/operations.ts'
import { createLedgerCounters } from './ledger-counters.ts'
import type { Reading } from './worker-metrics.ts'

/** The metrics of one gateway, in the Prometheus format. */
export type Metrics = ReturnType<typeof createMetrics>

const firstEventSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60]
const commitSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const durationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

type Options = {
  bufferedBytes: () => number
  /** Counts the requests whose log lines are pending. */
  settle: () => void
}

export function createMetrics({ bufferedBytes, settle: settleLog }: Options) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { contentType } = registry
  const within = metricsIn(registry)
  const { counter, gauge, histogram } = within
  const ledger = createLedgerCounters(counter)
  const buffered = gauge(
    'gateway_buffered_bytes',
    'Bytes of requests and answers that are held in memory.',
  )
  const build = '1; the labels are the versions of the gateway and of Node.'
  gauge('gateway_build_info', build, { labelNames: ['version', 'node'], aggregator: 'max' }).set(
    { version: contractInfo.version, node: process.version },
    1,
  )
  const settle = () => {
    settleLog()
    ledger.settle()
    buffered.set(bufferedBytes())
  }
  return {
    contentType,
    read: async () => {
      settle()
      return { contentType, text: await registry.metrics() }
    },
    /** The same metrics as objects. */
    readObjects: async () => {
      settle()
      // The package's type describes metrics without values.
      return (await registry.getMetricsAsJSON()) as unknown as Reading
    },
    recorded: ledger.add,
    observe: (now: Observed) => observe(within, now),
    ...createPeerMetrics(within),
    spansDropped: counter(
      'gateway_spans_dropped_total',
      'Spans that were not exported to the OpenTelemetry collector, by reason.',
      'reason',
    ),
    requests: histogram(
      'gateway_request_duration_seconds',
      'Requests by method, status and time to the end of the answer.',
      { labelNames: ['method', 'status'], buckets: durationSeconds },
    ),
    collections: counter(
      'gateway_forced_collections_total',
      'Garbage collections that the gateway forced, by cause.',
      'cause',
    ),
    connections: gauge('gateway_connections', 'Open client connections.'),
    closed: counter(
      'gateway_connections_closed_total',
      'Client connections that the gateway refused or closed early, by reason.',
      'reason',
    ),
    signInFailures: counter('gateway_sign_in_failures_total', 'Sign-ins that were refused.'),
    backgroundFailures: counter(
      'gateway_background_failures_total',
      'Failed background work, by kind; it is retried.',
      'work',
    ),
    ...createCallMetrics(within),
  }
}

function createResponses({ counter }: Within) {
  const help = 'Answers by status and error code; a failed tool counts beside its HTTP answer.'
  const responses = counter('gateway_responses_total', help, 'status', 'code')
  // Prometheus sees no increase in the first value of a series, so an outage would begin unseen.
  responses.inc({ status: 503, code: 'overloaded' }, 0)
  return responses
}

/** Metrics of answers, commits, attempts on providers, left calls, and models in use. */
function createCallMetrics(within: Within) {
  const { counter, gauge, histogram } = within
  return {
    responses: createResponses(within),
    commits: histogram(
      'gateway_commit_seconds',
      'Time to commit a group of rows of the ledger, or of reservations of budgets.',
      { labelNames: [], buckets: commitSeconds },
    ),
    left: counter(
      'gateway_calls_left_total',
      'Calls whose client disconnected before a non-streamed answer; the calls go on.',
    ),
    abandonedCalls: gauge('gateway_left_calls', 'Running calls whose client has disconnected.'),
    attempts: counter(
      'gateway_upstream_attempts_total',
      'Attempts on a provider, by outcome.',
      'provider',
      'outcome',
    ),
    firstEvent: histogram(
      'gateway_time_to_first_event_seconds',
      'Time from the start of a stream to its first event, by provider; earlier attempts count.',
      { labelNames: ['provider'], buckets: firstEventSeconds },
    ),
    retirements: gauge(
      'gateway_model_retirement_timestamp_seconds',
      'Unix time at which a model in use retires, by model.',
      { labelNames: ['model'], aggregator: 'max' },
    ),
    webhookAttempts: counter(
      'gateway_webhook_attempts_total',
      'Requests to webhooks, by outcome: delivered, failed, or gone (410).',
      'outcome',
    ),
  }
}

type Within = ReturnType<typeof metricsIn>

/** Creates metrics in a registry. */
function metricsIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string = never>(
      name: string,
      help: string,
      ...labelNames: readonly Label[]
    ) => new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string = never>(
      name: string,
      help: string,
      more: Omit<GaugeConfiguration<Label>, 'name' | 'help'> = {},
    ) => new Gauge({ name, help, registers, ...more }),
    histogram: <Label extends string>(
      name: string,
      help: string,
      more: Omit<HistogramConfiguration<Label>, 'name' | 'help'>,
    ) => new Histogram({ name, help, registers, ...more }),
  }
}

/** Values that are read when the metrics are read. */
type Observed = {
  server: { running(): number }
  calls: {
    openMarks(): number
    sumDeltasWaiting(): number
    budgets: { leases: { free(): number } }
  }
  config: { dataDir: string }
  /** For each provider, the number of upstream models whose circuit is not closed. */
  openCircuits: () => ReadonlyMap<string, number>
  store: { isUp(): boolean; journalRows(): number; waiting(): number }
}

type Aggregator = 'sum' | 'min' | 'max'
type Read = () => number | Promise<number>

function observe({ gauge }: Within, { server, calls, config, openCircuits, store }: Observed) {
  const observed = (name: string, help: string, read: Read, aggregator: Aggregator = 'sum') => {
    const collect = async () => one.set(await read())
    const one: Gauge = gauge(name, help, { aggregator, collect })
  }
  const runningHelp = 'Requests that are not answered yet, this one included.'
  observed('gateway_running_requests', runningHelp, server.running)
  const marksHelp = 'Calls without a reservation that wait for a vendor or for their row.'
  observed('gateway_call_marks_open', marksHelp, calls.openMarks)
  const leasedHelp = 'Money of budgets that this process leases and no call holds, in dollars.'
  observed('gateway_budget_leased_usd', leasedHelp, () => calls.budgets.leases.free() / 1e9)
  const rowsHelp = 'Rows in the journal, which wait until the store accepts them.'
  observed('gateway_journal_rows', rowsHelp, store.journalRows)
  const waitingHelp = 'Queries and transactions that wait for a connection to the database.'
  observed('gateway_database_pool_waiting', waitingHelp, store.waiting)
  // Workers share the store and the folder, and each counts the same deltas.
  const deltasHelp = 'Changes of usage sums that wait to be folded into them, up to 100,000.'
  observed('gateway_sum_deltas_waiting', deltasHelp, calls.sumDeltasWaiting, 'max')
  const upHelp = '1 while the store accepts rows, else 0; calls are refused then.'
  observed('gateway_store_up', upHelp, () => Number(store.isUp()), 'min')
  const freeHelp = 'Bytes that the gateway may still write to DATA_DIR; 0 if it does not answer.'
  observed('gateway_data_dir_free_bytes', freeHelp, createFreeBytes(config.dataDir), 'min')
  const circuits: Gauge<'provider'> = gauge(
    'gateway_open_circuits',
    'Models of a provider that are not called for a while after failures.',
    {
      labelNames: ['provider'],
      // Each worker has its own circuits for the same models.
      aggregator: 'max',
      collect: () => {
        circuits.reset()
        for (const [provider, count] of openCircuits()) circuits.set({ provider }, count)
      },
    },
  )
}

/** Limit for the answer of a file system, which may be on the network; shorter than the primary waits for a worker. */
const freeBytesTimeoutMs = 250

/** Reads the free space of a folder, never twice at once; 0 if the folder is missing or does not answer in time. */
export function createFreeBytes(
  folder: string,
  read: ReadFreeSpace = statfs,
): () => Promise<number> {
  let running: Promise<number> | undefined
  const start = () =>
    read(folder)
      .then(({ bavail, bsize }) => bavail * bsize)
      .catch(() => 0)
      .finally(() => (running = undefined))
  return () => Promise.race([(running ??= start()), sleep(freeBytesTimeoutMs, 0, { ref: false })])
}

type ReadFreeSpace = (folder: string) => Promise<{ bavail: number; bsize: number }>

/** Metrics of state that processes share through Redis. They appear with their first value: 0 would be wrong. */
function createPeerMetrics({ counter, gauge }: Within) {
  let fallback: Gauge | undefined
  let up: Gauge | undefined
  let cache: Counter<'outcome'> | undefined
  return {
    limitsFallback: (value: 0 | 1): void => {
      const help = '1 while this process counts its share of the limits without Redis, else 0.'
      // The value is 1 if any worker counts alone.
      fallback ??= gauge('gateway_limits_fallback', help, { aggregator: 'max' })
      fallback.set(value)
    },
    redisUp: (value: 0 | 1): void => {
      const help = '1 while Redis answers, else 0; only with REDIS_URL.'
      // The value is 1 only if Redis answers all workers.
      up ??= gauge('gateway_redis_up', help, { aggregator: 'min' })
      up.set(value)
    },
    sharedCacheUsed: (outcome: string): void => {
      const help = 'Reads and writes of the shared cache, by outcome.'
      cache ??= counter('gateway_far_cache_total', help, 'outcome')
      cache.inc({ outcome })
    },
  }
}
