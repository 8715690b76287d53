import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api'
import {
  traceHeaders,
  type TraceHeaders,
  type Trace,
  type TracedAnswer,
  type TracedRoute,
  type TracedRow,
  type TracedTry,
  type TracedWork,
} from '../../core/trace.ts'
import type { Instruments } from './instruments.ts'
import { attribute, other } from './names.ts'

/** The tools that create spans and record metrics. */
export type Tools = {
  tracer: Tracer
  instruments: Instruments
  /** Whether the trace headers are sent to providers. */
  passesOn: boolean
}

/** The parent span of a call and the rest of its trace context. */
export type Around = {
  span: Span
  /** The `tracestate` that the gateway received. */
  state: string | undefined
  /** The operation name; by default it follows from the modality. */
  operation?: string
}

/** The trace of a call. Its span ends after both the request and the call have ended. */
type FollowedCall = Trace & { end(finish: (endTime: number) => void): void }

/** An attempt that has not ended, or whose stream continues. */
type OpenTry = { span: Span; labels: Attributes; startedAt: number; firstChunkSeconds?: number }

/** Traces the attempts and the ledger row of a call within the span of the call. */
export function followCall(tools: Tools, around: Around): FollowedCall {
  const { tracer, instruments } = tools
  const { span } = around
  const startedAt = performance.now()
  const context = trace.setSpan(ROOT_CONTEXT, span)
  let streaming: OpenTry | undefined
  let lastLabels: Attributes = {}
  let isOpen = false
  let whenRecorded: (() => void) | undefined
  return {
    tryBegins: (route, work) => {
      isOpen = true
      const labels = labelsOf(route, work)
      const one = {
        span: startTry(tracer, context, route, work, labels),
        labels,
        startedAt: performance.now(),
      }
      const ended: TracedTry['ended'] = ({ outcome, status }) => {
        if (outcome === 'ok') lastLabels = labels
        if (outcome !== 'ok' || !work.streams) return endTry(instruments, one, outcome, status)
        streaming = { ...one, firstChunkSeconds: secondsSince(one.startedAt) }
        instruments.timeToFirstChunk.record(streaming.firstChunkSeconds!, labels)
        instruments.timeToFirstToken.record(secondsSince(startedAt), withoutServer(labels))
      }
      return { headers: headersOf(tools, one.span, around.state), ended }
    },
    answered: (answer) => span.isRecording() && traceAnswer(span, answer),
    recorded: (row) => {
      if (streaming !== undefined) endTry(instruments, streaming, errorTypeOf(row))
      // A request may make several calls.
      streaming = undefined
      countTokens(instruments, row, lastLabels)
      if (span.isRecording()) span.setAttributes(attributesOf(row, around, lastLabels))
      isOpen = false
      whenRecorded?.()
    },
    end: (finish) => {
      const endTime = performance.now()
      // Ends the span of a call that continues without its client when the call is recorded.
      if (isOpen) whenRecorded = () => finish(endTime)
      else finish(endTime)
    },
  }
}

function errorTypeOf({ outcome, errorCode }: TracedRow): string {
  return outcome === 'failed' ? (errorCode ?? outcome) : outcome
}

function startTry(
  tracer: Tracer,
  context: Context,
  { upstreamModel, model }: TracedRoute,
  { streams, modality }: TracedWork,
  labels: Attributes,
): Span {
  // Omits a model name that the client may have invented, since each span name becomes a series.
  const name = model.undescribed ? operations[modality] : `${operations[modality]} ${upstreamModel}`
  const attributes = {
    ...labels,
    [attribute.requestModel]: upstreamModel,
    ...(modality === 'image' ? { [attribute.outputType]: 'image' } : {}),
    ...(streams ? { [attribute.requestStream]: true } : {}),
  }
  return tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context)
}

function headersOf(
  { passesOn }: Tools,
  span: Span,
  state: string | undefined,
): TraceHeaders | undefined {
  if (!passesOn) return undefined
  const { traceId, spanId, traceFlags: flags } = span.spanContext()
  return traceHeaders({ traceId, spanId, flags, state })
}

function endTry(
  instruments: Instruments,
  { span, labels, startedAt, firstChunkSeconds }: OpenTry,
  outcome: string,
  status?: number,
): void {
  const isOk = outcome === 'ok'
  const ended = isOk ? labels : { ...labels, [attribute.errorType]: outcome }
  instruments.operationDuration.record(secondsSince(startedAt), ended)
  if (span.isRecording()) {
    if (firstChunkSeconds !== undefined) {
      span.setAttribute(attribute.timeToFirstChunk, firstChunkSeconds)
    }
    if (status !== undefined) span.setAttribute(attribute.httpStatus, status)
    if (!isOk) fail(span, outcome)
  }
  span.end()
}

/** Marks a span as failed; a cancelled request is not a failure. */
export function fail(span: Span, errorType: string): void {
  span.setAttribute(attribute.errorType, errorType)
  if (errorType !== 'cancelled') span.setStatus({ code: SpanStatusCode.ERROR })
}

function traceAnswer(span: Span, { id, finishReasons }: TracedAnswer): void {
  span.setAttribute(attribute.responseId, id)
  if (finishReasons.length > 0) span.setAttribute(attribute.finishReasons, [...finishReasons])
}

/** The attributes of an attempt in metrics and in its span. */
function labelsOf({ provider, model }: TracedRoute, { modality }: TracedWork): Attributes {
  const { id, server } = provider
  return {
    [attribute.operation]: operations[modality],
    [attribute.provider]: server?.name ?? id,
    [attribute.requestModel]: model.undescribed ? other : model.row.id,
    ...(server && { [attribute.serverAddress]: server.host, [attribute.serverPort]: server.port }),
  }
}

function withoutServer(labels: Attributes): Attributes {
  const { [attribute.serverAddress]: _host, [attribute.serverPort]: _port, ...more } = labels
  return more
}

function countTokens(
  { tokenUsage }: Instruments,
  { cache, usage }: TracedRow,
  labels: Attributes,
): void {
  const { inputTokens, outputTokens } = usage
  // Records nothing for a cached answer, which cost no tokens, and for a row without counts.
  if (cache === 'hit' || inputTokens + outputTokens === 0) return
  tokenUsage.record(inputTokens, { ...labels, [attribute.tokenType]: 'input' })
  tokenUsage.record(outputTokens, { ...labels, [attribute.tokenType]: 'output' })
}

function attributesOf(row: TracedRow, { operation }: Around, labels: Attributes): Attributes {
  const { usage, modality } = row
  const { [attribute.provider]: provider = row.provider ?? undefined } = labels
  return {
    [attribute.operation]: operation ?? operations[modality],
    [attribute.requestModel]: row.model,
    [attribute.provider]: provider,
    [attribute.responseModel]: row.servedModel ?? row.upstreamModel ?? undefined,
    [attribute.outputType]: modality === 'image' ? 'image' : undefined,
    ...(row.cache === 'hit' ? {} : tokensOf(usage)),
    [attribute.cost]: row.costNanoUsd ?? undefined,
    [attribute.costStatus]: row.costStatus,
    [attribute.cache]: row.cache,
    [attribute.mode]: row.mode,
    [attribute.face]: row.face,
    [attribute.outcome]: row.outcome,
    [attribute.accountId]: row.accountId,
    [attribute.keyId]: row.keyId,
  }
}

function tokensOf({ images, estimated, ...usage }: TracedRow['usage']): Attributes {
  return {
    [attribute.inputTokens]: usage.inputTokens,
    [attribute.outputTokens]: usage.outputTokens,
    [attribute.cacheReadTokens]: usage.cachedInputTokens,
    [attribute.cacheWriteTokens]: usage.cacheWriteTokens,
    [attribute.reasoningTokens]: usage.reasoningTokens,
    [attribute.images]: images > 0 ? images : undefined,
    [attribute.estimated]: estimated || undefined,
  }
}

/** Operation names of the semantic conventions. */
const operations = {
  chat: 'chat',
  image: 'generate_content',
  embedding: 'embeddings',
  // The conventions have no name for it.
  moderation: 'moderation',
} as const

/** Seconds since a time of `performance.now()`. */
export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}
