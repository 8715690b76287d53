import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'

/** Receives the results of exports and the lost spans. */
export type Losses = {
  dropped(reason: 'queue_full' | 'export_failed', spans: number): void
  /** An export ended, with or without an error. */
  exported(signal: Signal, error?: Error): void
}
type Signal = 'traces' | 'metrics'

type Watched = {
  exporter: SpanExporter
  spansMax: number
  losses: Losses
  batching: (exporter: SpanExporter) => SpanProcessor
}

/** Batches spans for an exporter. Spans above the limit are dropped; each lost span is counted. */
export function createOutbox({ exporter, spansMax, losses, batching }: Watched): SpanProcessor {
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
  const batches = batching(counting)
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
