import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type CounterConfiguration,
  type GaugeConfiguration,
} from 'prom-client'
import type { UsageRow } from '../core/receipt.ts'
import type { Reading } from './worker-metrics.ts'

/** The metrics of one gateway, in the Prometheus format. */
export type Metrics = ReturnType<typeof createMetrics>

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
  }
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

type CallLabels = Pick<UsageRow, (typeof callLabels)[number]>
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
    help: 'Calls in the ledger by face, modality, mode, outcome and cache.',
    labelNames: callLabels,
    registers,
  })
  const tokens = new Counter({
    name: 'gateway_tokens_total',
    help: 'Tokens by direction and mode.',
    labelNames: ['direction', 'mode'],
    registers,
  })
  const costUsd = new Counter({
    name: 'gateway_cost_usd_total',
    help: 'Cost in dollars by mode; the ledger has the exact amounts.',
    labelNames: ['mode'],
    registers,
  })
  const unsettled = new Map<string, Sums>()

  const sumsOf = ({ face, modality, mode, outcome, cache }: CallLabels): Sums => {
    const name = `${face} ${modality} ${mode} ${outcome} ${cache}`
    const known = unsettled.get(name)
    if (known !== undefined) return known
    const labels = { face, modality, mode, outcome, cache }
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
        const { mode } = labels
        calls.inc(labels, sums.calls)
        tokens.inc({ direction: 'input', mode }, sums.inputTokens)
        tokens.inc({ direction: 'output', mode }, sums.outputTokens)
        costUsd.inc({ mode }, sums.costNanoUsd / 1e9)
      }
      unsettled.clear()
    },
  }
}
