import {
  readTraceContext,
  traceHeaders,
  type Trace,
  type TraceCarrier,
  type TracedTry,
  type Tracing,
} from '../core/trace.ts'
import type { Events } from './events.ts'
import type { Metrics } from './metrics.ts'
import type { MetricFamily } from './open-telemetry/bridge.ts'
import type { OpenTelemetrySettings } from './open-telemetry/start.ts'

type Options = {
  config: Omit<OpenTelemetrySettings, keyof Derived | 'otlpEndpoint'> & {
    otlpEndpoint: string | undefined
    otelSdkDisabled: boolean
    workers: number | 'auto'
    limits: { telemetrySpansMax: number; telemetryFlushTimeoutMs: number }
  }
  secrets: Pick<OpenTelemetrySettings, 'otlpHeaders'>
  metrics: Pick<Metrics, 'readObjects' | 'spansDropped'>
  events: Pick<Events, 'exported'>
}
type Derived = Pick<
  OpenTelemetrySettings,
  'otlpHeaders' | 'isOneOfMany' | 'spansMax' | 'flushTimeoutMs'
>

/**
 * Starts tracing as configured; `close` sends the remaining spans and metrics. OpenTelemetry is loaded only if
 * it is configured.
 */
export async function startTracing(options: Options) {
  const { config, secrets, metrics, events } = options
  const { otlpEndpoint, otelSdkDisabled, traceContext, workers, limits } = config
  if (otlpEndpoint === undefined || otelSdkDisabled) {
    const tracing = traceContext === 'passed_on' ? passingOn : undefined
    return { tracing, close: () => Promise.resolve() }
  }
  const { startOpenTelemetry } = await import('./open-telemetry/start.ts')
  return startOpenTelemetry({
    settings: {
      ...config,
      ...secrets,
      otlpEndpoint,
      isOneOfMany: workers !== 1,
      spansMax: limits.telemetrySpansMax,
      flushTimeoutMs: limits.telemetryFlushTimeoutMs,
    },
    // prom-client's type of a metric omits `metricName` within a histogram.
    readMetrics: async () => (await metrics.readObjects()) as unknown as MetricFamily[],
    losses: {
      dropped: (reason, spans) => metrics.spansDropped.inc({ reason }, spans),
      exported: events.exported,
    },
  })
}

/** Forwards `traceparent` of clients to providers unchanged, without spans of the gateway. */
const passingOn: Tracing = {
  request: passedOn,
  tool: (_name, meta, around) => passedOn(meta) ?? around,
}

function passedOn(carrier: TraceCarrier): Trace | undefined {
  if (carrier.traceparent === undefined) return undefined
  const context = readTraceContext(carrier)
  if (context === undefined) return undefined
  const traced: TracedTry = { headers: traceHeaders(context), ended: () => undefined }
  return { tryBegins: () => traced }
}
