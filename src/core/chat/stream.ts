import type { Hold } from '../../bytes/budget.ts'
import { fail, receiptSoFar, succeed, type Call, type Delivery } from '../call.ts'
import { toGatewayError, type GatewayError } from '../error.ts'
import { joined, type Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import { cacheEntryBytesMax, type CachedAnswer } from '../recall/cached-answer.ts'
import type { Receipt } from '../receipt.ts'
import type { Route } from '../route.ts'
import type { ChatRequest, ChatStream, EventSink, StreamEnd } from './chat.ts'
import { estimateMissing, estimateStream, estimateTokens } from './estimate.ts'
import { finishReasonsIn } from './finish-reasons.ts'

/** How a stream ended: complete, with the data for its last chunks, or with an error. */
export type StreamOutcome =
  | (Omit<StreamEnd, 'usage'> & { usage: Usage; receipt: Receipt; error?: never })
  | { error: GatewayError }

/** A stream that is ready to be delivered. */
export type StreamedChat = {
  /** The receipt before the cost is known. */
  receipt: Receipt
  /** For a stream in the API of the request: the usage that its vendor reported at the start. */
  native?: { usage: Usage | undefined }
  /** Delivers the stream. Never rejects: a failure is recorded and becomes the outcome. */
  pipe(sink: EventSink): Promise<StreamOutcome>
}

/** Maximum bytes of a stream that are kept to estimate its tokens if the vendor reports none; real answers are shorter. */
const estimateBytesMax = 1024 * 1024
type Begun = {
  stream: ChatStream
  route: Route
  warnings: readonly Warning[]
  request: ChatRequest
  delivery: Delivery
}
type KeptStream = { events: Buffer } & Omit<StreamEnd, 'usage'>

/**
 * Forwards the events, then records the call, and resolves when the row is durable. A stream that is
 * never piped is recorded when its caller disconnects or the deadline expires.
 */
export function deliverStream(begun: Begun): StreamedChat {
  const { route } = begun
  const { call } = begun.delivery
  const { signal } = call.deadline
  const warnings = joined(begun.delivery.warnings, begun.warnings)
  let ended: Promise<StreamOutcome> | undefined
  const abandon = () => {
    ended ??= brokenOff(begun, signal.reason, Buffer.alloc(0))
  }
  if (signal.aborted) abandon()
  else signal.addEventListener('abort', abandon, { once: true })
  const { isNative, usageSoFar } = begun.stream
  return {
    receipt: receiptSoFar(call, route, warnings),
    ...(isNative && { native: { usage: usageSoFar?.() } }),
    pipe: (sink) => {
      signal.removeEventListener('abort', abandon)
      return (ended ??= forward(begun, sink, warnings))
    },
  }
}

async function forward(
  begun: Begun,
  sink: EventSink,
  warnings: readonly Warning[],
): Promise<StreamOutcome> {
  const { stream, route, request, delivery } = begun
  const { call, keep } = delivery
  const kept = keepEvents(sink, {
    cacheBytesMax: keep === undefined ? 0 : cacheEntryBytesMax,
    estimateBytesMax,
    hold: call.context.hold,
  })
  try {
    const { usage: reported, ...end } = await stream.forward(kept.sink)
    const isCounted = reported !== undefined && reported.outputTokens > 0
    const usage = isCounted ? reported : estimated(reported, request, kept)
    traceAnswer(call, end, kept)
    const receipt = await succeed(call, { route, usage, servedModel: end.identity.model }, warnings)
    if (kept.complete()) {
      keep?.(() => cachedAnswer({ events: kept.events(), ...end }, usage, receipt))
    }
    return { ...end, usage, receipt }
  } catch (thrown) {
    return brokenOff(begun, thrown, kept.events())
  }
}

function estimated(reported: Usage | undefined, request: ChatRequest, kept: KeptEvents): Usage {
  const own = estimateStream(request, kept.events())
  return reported === undefined ? own : estimateMissing(reported, own)
}

/** Events are parsed only for traced calls. */
function traceAnswer(
  { context: { trace } }: Call,
  end: Omit<StreamEnd, 'usage'>,
  kept: KeptEvents,
): void {
  trace?.answered?.({
    id: end.identity.id,
    finishReasons: end.native ? [end.native.finishReason] : finishReasonsIn(kept.events()),
  })
}

/** Records an incomplete stream at the price of the delivered events. */
async function brokenOff(
  { stream, route, request, delivery: { call } }: Begun,
  thrown: unknown,
  events: Buffer,
): Promise<StreamOutcome> {
  try {
    const usage = partialUsage(stream, estimateStream(request, events))
    return { error: await fail(call, thrown, { route, usage }) }
  } catch (recordFailure) {
    return { error: toGatewayError(recordFailure) }
  }
}

function cachedAnswer(
  result: KeptStream,
  usage: Usage,
  { model, provider, warnings, cost }: Receipt,
): CachedAnswer {
  const entry = { modelId: model.row.id, provider, usage, warnings, costNanoUsd: cost.nanoUsd }
  return { ...entry, bytes: result.events.length, result }
}

/** Replays a cached stream, which is written in one piece. */
export function replayStream(
  { result, usage = { ...estimateTokens('', ''), images: 0 } }: CachedAnswer,
  receipt: Receipt,
): StreamedChat {
  // Only `deliverStream` writes under the cache key of a streamed request.
  const { events, ...end } = result as KeptStream
  return {
    receipt,
    ...(end.native && { native: { usage } }),
    pipe: async (sink) => {
      sink.write(events)
      return { ...end, usage, receipt }
    },
  }
}

/** The usage so far, with at least the estimated output tokens, since the upstream may count late. */
function partialUsage(stream: ChatStream, estimated: Usage): Usage {
  const counted = stream.usageSoFar?.()
  if (counted === undefined) return estimated
  const inputTokens = counted.inputTokens || estimated.inputTokens
  const outputTokens = Math.max(counted.outputTokens, estimated.outputTokens)
  return { ...counted, inputTokens, outputTokens, estimated: true }
}

type KeptEvents = {
  /** Keeps the events that are written, and forwards them. */
  sink: EventSink
  events(): Buffer
  /** Whether all events were kept, within `cacheBytesMax`. */
  complete(): boolean
}

/** Bytes to keep for the cache (0: none) and for the token estimate. */
type Limits = { cacheBytesMax: number; estimateBytesMax: number; hold: Hold }

const slabBytes = 8192

/**
 * Keeps the events that pass, for the cache and for token estimates. They are copied into slabs,
 * since hundreds of small buffers that live as long as a stream burden the garbage collector.
 */
export function keepEvents(
  sink: EventSink,
  { cacheBytesMax, estimateBytesMax, hold }: Limits,
): KeptEvents {
  let bytesMax = Math.max(cacheBytesMax, estimateBytesMax)
  const full: Buffer[] = []
  let slab = Buffer.alloc(0)
  let used = 0
  let bytes = 0

  /** Reserves memory for a slab. When memory is short, the copy for the cache is dropped first. */
  const mayTake = (more: number): boolean =>
    (bytes <= estimateBytesMax ? hold.takeMore(more) : hold.take(more)) === undefined

  const keep = (piece: Buffer) => {
    if (used + piece.length > slab.length) {
      const more = Math.max(slabBytes, piece.length)
      if (!mayTake(more)) {
        bytesMax = 0
        return
      }
      if (used > 0) full.push(slab.subarray(0, used))
      slab = Buffer.allocUnsafeSlow(more)
      used = 0
    }
    slab.set(piece, used)
    used += piece.length
  }

  return {
    events: () => Buffer.concat([...full, slab.subarray(0, used)]),
    complete: () => bytes <= Math.min(cacheBytesMax, bytesMax),
    sink: {
      onDrain: sink.onDrain,
      write: (piece) => {
        bytes += piece.length
        if (bytes <= bytesMax) keep(piece)
        return sink.write(piece)
      },
    },
  }
}
