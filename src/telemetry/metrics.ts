import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type CounterConfiguration,
  type GaugeConfiguration,
} from 'prom-client'
import { contractInfo } from '../../generated/operations.ts'
import type { UsageRow } from '../core/receipt.ts'
import type { Reading } from './worker-metrics.ts'

/** The metrics of one gateway, in the Prometheus format. */
export type Metrics = ReturnType<typeof createMetrics>

const firstEventSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60]
const durationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

export function createMetrics({ bufferedBytes }: { bufferedBytes: () => number }) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const ledger = createLedgerCounters(registers)
  const buffered = new Gauge({
    name: 'gateway_buffered_bytes',
    help: 'Bytes of requests and answers that are held in memory.',
    registers,
  })
  buildInfo(registers)
  const settle = () => {
    ledger.settle()
    buffered.set(bufferedBytes())
  }
  return {
    contentType: registry.contentType,
    read: async () => {
      settle()
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
    /** The same metrics as objects. */
    readObjects: async () => {
      settle()
      // The package's type describes metrics without values.
      return (await registry.getMetricsAsJSON()) as unknown as Reading
    },
    recorded: ledger.add,
    observe: (now: Observed) => observe(registers, now),
    ...createPeerMetrics(registers),
    spansDropped: spansDropped(registers),
    requests: new Histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Requests by method, status and time to the end of the answer.',
      labelNames: ['method', 'status'],
      buckets: durationSeconds,
      registers,
    }),
    collections: new Counter({
      name: 'gateway_forced_collections_total',
      help: 'Garbage collections that the gateway forced, by cause.',
      labelNames: ['cause'],
      registers,
    }),
    connections: new Gauge({
      name: 'gateway_connections',
      help: 'Open client connections.',
      registers,
    }),
    closed: new Counter({
      name: 'gateway_connections_closed_total',
      help: 'Client connections that the gateway refused or closed early, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    signInFailures: new Counter({
      name: 'gateway_sign_in_failures_total',
      help: 'Sign-ins with a wrong e-mail or password.',
      registers,
    }),
    backgroundFailures: new Counter({
      name: 'gateway_background_failures_total',
      help: 'Failed background work, by kind; it is retried.',
      labelNames: ['work'],
      registers,
    }),
    ...createCallMetrics(registers),
  }
}

/** Metrics of attempts on providers, and of calls whose clients disconnected. */
function createCallMetrics(registers: Registry[]) {
  return {
    left: new Counter({
      name: 'gateway_calls_left_total',
      help: 'Calls whose client disconnected before a non-streamed answer; the calls go on.',
      registers,
    }),
    abandonedCalls: new Gauge({
      name: 'gateway_left_calls',
      help: 'Running calls whose client has disconnected.',
      registers,
    }),
    attempts: new Counter({
      name: 'gateway_upstream_attempts_total',
      help: 'Attempts on a provider, by outcome.',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    firstEvent: new Histogram({
      name: 'gateway_time_to_first_event_seconds',
      help: 'Time from the start of a stream to its first event, by provider; earlier attempts count.',
      labelNames: ['provider'],
      buckets: firstEventSeconds,
      registers,
    }),
  }
}

/** Values that are read when the metrics are read. */
type Observed = {
  running: () => number
  /** For each provider, the number of upstream models whose circuit is not closed. */
  openCircuits: () => ReadonlyMap<string, number>
}

function observe(registers: Registry[], { running, openCircuits }: Observed) {
  const runningRequests: Gauge = new Gauge({
    name: 'gateway_running_requests',
    help: 'Requests that are not answered yet, this one included.',
    registers,
    collect: () => runningRequests.set(running()),
  })
  const circuits: Gauge = new Gauge({
    name: 'gateway_open_circuits',
    help: 'Models of a provider that are not called for a while after failures.',
    labelNames: ['provider'],
    // Each worker has its own circuits for the same models.
    aggregator: 'max',
    registers,
    collect: () => {
      circuits.reset()
      for (const [provider, count] of openCircuits()) circuits.set({ provider }, count)
    },
  })
}

function buildInfo(registers: Registry[]): void {
  new Gauge({
    name: 'gateway_build_info',
    help: '1; the labels are the versions of the gateway and of Node.',
    labelNames: ['version', 'node'],
    aggregator: 'max',
    registers,
  }).set({ version: contractInfo.version, node: process.version }, 1)
}

/** Metrics of state that processes share through Redis. */
function createPeerMetrics(registers: Registry[]) {
  return {
    limitsFallback: lateGauge({
      name: 'gateway_limits_fallback',
      help: '1 while this process counts its share of the limits without Redis, else 0.',
      // The value is 1 if any worker counts alone.
      aggregator: 'max',
      registers,
    }),
    redisUp: lateGauge({
      name: 'gateway_redis_up',
      help: '1 while Redis answers, else 0; only with REDIS_URL.',
      // The value is 1 only if Redis answers all workers.
      aggregator: 'min',
      registers,
    }),
    sharedCacheUsed: lateCounter({
      name: 'gateway_far_cache_total',
      help: 'Reads and writes of the shared cache, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
  }
}

/** Spans that were not exported, by reason. */
function spansDropped(registers: Registry[]) {
  return new Counter({
    name: 'gateway_spans_dropped_total',
    help: 'Spans that were not exported to the OpenTelemetry collector, by reason.',
    labelNames: ['reason'],
    registers,
  })
}

/** A gauge that appears with its first value: before the first value, 0 would be wrong. */
function lateGauge(options: GaugeConfiguration<string>): (value: number) => void {
  let gauge: Gauge | undefined
  return (value) => {
    gauge ??= new Gauge(options)
    gauge.set(value)
  }
}

/** A counter by outcome that appears with its first value. */
function lateCounter(options: CounterConfiguration<string>): (outcome: string) => void {
  let counter: Counter | undefined
  return (outcome) => {
    counter ??= new Counter(options)
    counter.inc({ outcome })
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
function createLedgerCounters(registers: Registry[]) {
  const calls = new Counter({
    name: 'gateway_calls_total',
    help: 'Calls in the ledger by face, modality, mode, outcome, cache, provider and model.',
    labelNames: [...callLabels, ...modelLabels],
    registers,
  })
  const tokens = new Counter({
    name: 'gateway_tokens_total',
    help: 'Tokens by direction, mode, provider and model.',
    labelNames: ['direction', 'mode', ...modelLabels],
    registers,
  })
  const costUsd = new Counter({
    name: 'gateway_cost_usd_total',
    help: 'Cost in dollars by mode, provider and model; the ledger has the exact amounts.',
    labelNames: ['mode', ...modelLabels],
    registers,
  })
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
