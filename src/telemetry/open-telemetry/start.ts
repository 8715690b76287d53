import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace'
import { contractInfo } from '../../../generated/operations.ts'
import type { components } from '../../../generated/settings.ts'
import { createBridge, type MetricFamily } from './bridge.ts'
import { createInstruments } from './instruments.ts'
import { createSpans } from './spans.ts'

type Settings = components['schemas']['Settings']

/** The destination and the selection of traces and metrics. */
export type OpenTelemetrySettings = {
  traceContext: Settings['trace_context']
  otlpEndpoint: string
  otlpProtocol: Settings['otlp_protocol']
  otlpTimeoutMs: number
  otlpHeaders: Readonly<Record<string, string>> | undefined
  serviceName: string
  resourceAttributes: Readonly<Record<string, string>>
  tracesSampler: Settings['traces_sampler']
  tracesSamplerArg: number
  metricExportIntervalMs: number
  /** Whether other processes have the same name and attributes. */
  isOneOfMany: boolean
  spansMax: number
  flushTimeoutMs: number
}

type Options = {
  settings: OpenTelemetrySettings
  readMetrics: () => Promise<readonly MetricFamily[]>
  losses: Losses
}

/** Receives the results of exports and the lost spans. */
type Losses = {
  dropped(reason: 'queue_full' | 'export_failed', spans: number): void
  /** An export ended, with or without an error. */
  exported(signal: 'traces' | 'metrics', error?: Error): void
}

const spanBatchMax = 512
/** The maximum length of attribute values that providers or clients choose. */
const valueCharactersMax = 256
/** The maximum number of pending exports to a slow collector. */
const exportsConcurrentMax = 4
const spanDelayMs = 1000

/** Starts to export spans and metrics; `close` exports the remaining ones within a time limit. */
export async function startOpenTelemetry({ settings, readMetrics, losses }: Options) {
  const { traceContext, flushTimeoutMs } = settings
  const exporters = await createExporters(settings)
  const resource = defaultResource().merge(resourceFromAttributes(resourceOf(settings)))
  const traces = new TracerProvider({
    resource,
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: valueCharactersMax },
    spanProcessors: [createOutbox(exporters.spans, settings, losses)],
  })
  const metrics = new MeterProvider({
    resource,
    readers: [metricReader(settings, watched(exporters.metrics, losses), readMetrics)],
  })
  const { title: scope, version } = contractInfo
  const tracing = createSpans({
    tracer: traces.getTracer(scope, version),
    instruments: createInstruments(metrics.getMeter(scope, version)),
    takes: traceContext !== 'ignored',
    passesOn: traceContext === 'passed_on',
  })
  const close = async () => {
    const waiting = new AbortController()
    const isOver = sleep(flushTimeoutMs, undefined, { signal: waiting.signal })
    const last = Promise.allSettled([traces.shutdown(), metrics.shutdown()])
    await Promise.race([last, isOver.catch(() => undefined)])
    waiting.abort()
  }
  return { tracing, close }
}

type Exporters = { spans: SpanExporter; metrics: PushMetricExporter }

/** Creates exporters with every option, since they read missing options from the environment. */
async function createExporters(settings: OpenTelemetrySettings): Promise<Exporters> {
  const { otlpEndpoint, otlpProtocol, otlpTimeoutMs, otlpHeaders = {} } = settings
  const isJson = otlpProtocol === 'http/json'
  const [{ OTLPTraceExporter }, { OTLPMetricExporter }] = await (isJson
    ? Promise.all([
        import('@opentelemetry/exporter-trace-otlp-http'),
        import('@opentelemetry/exporter-metrics-otlp-http'),
      ])
    : Promise.all([
        import('@opentelemetry/exporter-trace-otlp-proto'),
        import('@opentelemetry/exporter-metrics-otlp-proto'),
      ]))
  const options = {
    headers: { ...otlpHeaders },
    timeoutMillis: otlpTimeoutMs,
    concurrencyLimit: exportsConcurrentMax,
  }
  return {
    spans: new OTLPTraceExporter({ ...options, url: `${otlpEndpoint}/v1/traces` }),
    metrics: new OTLPMetricExporter({ ...options, url: `${otlpEndpoint}/v1/metrics` }),
  }
}

/** Batches spans for an exporter. Spans above the limit are dropped; each lost span is counted. */
function createOutbox(
  exporter: SpanExporter,
  { otlpTimeoutMs, spansMax }: OpenTelemetrySettings,
  losses: Losses,
): SpanProcessor {
  let waiting = 0
  const counting: SpanExporter = {
    export: (spans, onResult) => {
      waiting -= spans.length
      exporter.export(spans, (result) => {
        if (result.error !== undefined) losses.dropped('export_failed', spans.length)
        losses.exported('traces', result.error)
        onResult(result)
      })
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  }
  const batches = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: spansMax,
    maxExportBatchSize: Math.min(spanBatchMax, spansMax),
    scheduledDelayMillis: spanDelayMs,
    exportTimeoutMillis: otlpTimeoutMs,
  })
  return {
    onStart: () => undefined,
    onEnd: (span: ReadableSpan) => {
      if (waiting >= spansMax) return losses.dropped('queue_full', 1)
      waiting++
      return batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

function watched(exporter: PushMetricExporter, losses: Losses): PushMetricExporter {
  return {
    export: (metrics, onResult) =>
      exporter.export(metrics, (result) => {
        losses.exported('metrics', result.error)
        onResult(result)
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
    selectAggregation: (type) => exporter.selectAggregation!(type),
    selectAggregationTemporality: (type) => exporter.selectAggregationTemporality!(type),
  }
}

function metricReader(
  { metricExportIntervalMs, otlpTimeoutMs }: OpenTelemetrySettings,
  exporter: PushMetricExporter,
  readMetrics: Options['readMetrics'],
): PeriodicExportingMetricReader {
  return new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: metricExportIntervalMs,
    exportTimeoutMillis: Math.min(otlpTimeoutMs, metricExportIntervalMs),
    metricProducers: [createBridge(readMetrics)],
  })
}

/** The resource of this process. If several processes run, a configured instance id is replaced. */
function resourceOf(settings: OpenTelemetrySettings): Record<string, string> {
  const { serviceName, resourceAttributes, isOneOfMany } = settings
  const instance = { 'service.instance.id': randomUUID() }
  return {
    'service.name': serviceName,
    'service.version': contractInfo.version,
    ...instance,
    ...resourceAttributes,
    ...(isOneOfMany ? instance : {}),
  }
}

function samplerOf({ tracesSampler, tracesSamplerArg }: OpenTelemetrySettings): Sampler {
  const samplers = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(tracesSamplerArg),
    parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
    parentbased_traceidratio: () =>
      new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(tracesSamplerArg) }),
  }
  return samplers[tracesSampler]()
}
