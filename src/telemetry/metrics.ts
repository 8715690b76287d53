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
import type { UsageRow } from '../core/receipt.ts'
import type { Reading } from './worker-metrics.ts'

/** The metrics of one gateway, in the Prometheus format. */
export type Metrics = ReturnType<typeof createMetrics>

const firstEventSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60]
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
  const ledger = createLedgerCounters(within)
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
    signInFailures: counter(
      'gateway_sign_in_failures_total',
      'Sign-ins with a wrong e-mail or password.',
    ),
    backgroundFailures: counter(
      'gateway_background_failures_total',
      'Failed background work, by kind; it is retried.',
      'work',
    ),
    ...createCallMetrics(within),
  }
}

/** Metrics of attempts on providers, of calls whose clients disconnected, and of models in use. */
function createCallMetrics({ counter, gauge, histogram }: Within) {
  return {
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
  running: () => number
  /** For each provider, the number of upstream models whose circuit is not closed. */
  openCircuits: () => ReadonlyMap<string, number>
  openMarks: () => number
  sumDeltasWaiting: () => number
}

function observe({ gauge }: Within, now: Observed) {
  const observed = (name: string, help: string, read: () => number, aggregator?: 'max') => {
    const collect = () => one.set(read())
    const one: Gauge = gauge(name, help, aggregator ? { aggregator, collect } : { collect })
  }
  const running = 'Requests that are not answered yet, this one included.'
  observed('gateway_running_requests', running, now.running)
  const marks = 'Calls without a budget that wait for a vendor or for their row.'
  observed('gateway_call_marks_open', marks, now.openMarks)
  const deltas = 'Changes of usage sums that wait to be folded into them, up to 100,000.'
  // Each worker counts the same rows.
  observed('gateway_sum_deltas_waiting', deltas, now.sumDeltasWaiting, 'max')
  const circuits: Gauge<'provider'> = gauge(
    'gateway_open_circuits',
    'Models of a provider that are not called for a while after failures.',
    {
      labelNames: ['provider'],
      // Each worker has its own circuits for the same models.
      aggregator: 'max',
      collect: () => {
        circuits.reset()
        for (const [provider, count] of now.openCircuits()) circuits.set({ provider }, count)
      },
    },
  )
}

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

const callLabels = ['face', 'modality', 'mode', 'outcome', 'cache'] as const
const modelLabels = ['provider', 'model'] as const

type ModelLabels = Record<(typeof modelLabels)[number], string>
type CallLabels = Pick<UsageRow, (typeof callLabels)[number]> & ModelLabels
/** Limit of the models with a label of their own; an endpoint may have any number of names. */
const modelsMax = 300
/** The label of all other models, and of calls that no provider answered. */
const other = '_OTHER'
type Sums = {
  labels: CallLabels
  calls: number
  inputTokens: number
  outputTokens: number
  costNanoUsd: number
}

/**
 * Counters of the ledger's rows. The sums are kept here until the metrics are read: prom-client serializes
 * and checks the labels of each increment, and a row causes four increments.
 */
function createLedgerCounters({ counter }: Within) {
  const calls = counter(
    'gateway_calls_total',
    'Calls in the ledger by face, modality, mode, outcome, cache, provider and model.',
    ...callLabels,
    ...modelLabels,
  )
  const tokens = counter(
    'gateway_tokens_total',
    'Tokens by direction, mode, provider and model.',
    'direction',
    'mode',
    ...modelLabels,
  )
  const costUsd = counter(
    'gateway_cost_usd_total',
    'Cost in dollars by mode, provider and model; the ledger has the exact amounts.',
    'mode',
    ...modelLabels,
  )
  const unsettled = new Map<string, Sums>()

  const models = new Set<string>()
  /** A model gets its label with its first answer, so that callers cannot create labels. */
  const modelOf = ({ model, outcome }: UsageRow): string => {
    if (models.has(model)) return model
    if (outcome !== 'ok' || models.size >= modelsMax) return other
    models.add(model)
    return model
  }
  const sumsOf = (row: UsageRow): Sums => {
    const { face, modality, mode, outcome, cache } = row
    const model = modelOf(row)
    const provider = row.provider ?? other
    const name = `${face} ${modality} ${mode} ${outcome} ${cache} ${provider} ${model}`
    const known = unsettled.get(name)
    if (known !== undefined) return known
    const labels = { face, modality, mode, outcome, cache, provider, model }
    const sums = { labels, calls: 0, inputTokens: 0, outputTokens: 0, costNanoUsd: 0 }
    unsettled.set(name, sums)
    return sums
  }

  return {
    add: (row: UsageRow) => {
      const sums = sumsOf(row)
      sums.calls++
      sums.inputTokens += row.usage.inputTokens
      sums.outputTokens += row.usage.outputTokens
      sums.costNanoUsd += row.costNanoUsd ?? 0
    },
    settle: () => {
      for (const { labels, ...sums } of unsettled.values()) {
        const { mode, provider, model } = labels
        calls.inc(labels, sums.calls)
        tokens.inc({ direction: 'input', mode, provider, model }, sums.inputTokens)
        tokens.inc({ direction: 'output', mode, provider, model }, sums.outputTokens)
        costUsd.inc({ mode, provider, model }, sums.costNanoUsd / 1e9)
      }
      unsettled.clear()
    },
  }
}
