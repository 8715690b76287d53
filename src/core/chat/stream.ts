import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { fail, succeed, type Call, type Delivery } from '../call.ts'
import { toGatewayError, type GatewayError } from '../error.ts'
import { joined, type Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import { cacheEntryBytesMax, type CachedAnswer } from '../repeats/cached-answer.ts'
import { receiptSoFar, type Receipt } from '../receipt.ts'
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
type OpenStream = {
  stream: ChatStream
  route: Route
  warnings: readonly Warning[]
  request: ChatRequest
  delivery: Delivery
}
type CachedStream = { events: Buffer } & Omit<StreamEnd, 'usage'>

/**
 * Forwards the events, then records the call, and resolves when the row is durable. A stream that is
 * never piped is recorded when its caller disconnects or the deadline expires.
 */
export function deliverStream(open: OpenStream): StreamedChat {
  const { route } = open
  const { call } = open.delivery
  const { signal } = call.deadline
  const warnings = joined(open.delivery.warnings, open.warnings)
  let ended: Promise<StreamOutcome> | undefined
  const abandon = () => {
    ended ??= brokenOff(open, signal.reason, Buffer.alloc(0))
  }
  if (signal.aborted) abandon()
  else signal.addEventListener('abort', abandon, { once: true })
  const { isNative, usageSoFar } = open.stream
  return {
    receipt: receiptSoFar(call, route, warnings),
    ...(isNative && { native: { usage: usageSoFar?.() } }),
    pipe: (sink) => {
      signal.removeEventListener('abort', abandon)
      return (ended ??= forward(open, sink, warnings))
    },
  }
}

async function forward(
  open: OpenStream,
  sink: EventSink,
  warnings: readonly Warning[],
): Promise<StreamOutcome> {
  const { stream, route, request, delivery } = open
  const { call, share } = delivery
  const copy = copyEvents(sink, {
    cacheBytesMax: share === undefined ? 0 : cacheEntryBytesMax,
    estimateBytesMax,
    memory: call.context.memory,
  })
  try {
    const { usage: reported, ...end } = await stream.forward(copy.sink)
    const isCounted = reported !== undefined && reported.outputTokens > 0
    const usage = isCounted ? reported : estimated(reported, request, copy)
    traceAnswer(call, end, copy)
    const receipt = await succeed(call, { route, usage, servedModel: end.identity.model }, warnings)
    if (copy.complete()) {
      share?.(() => cachedAnswer({ events: copy.events(), ...end }, usage, receipt))
    }
    return { ...end, usage, receipt }
  } catch (thrown) {
    return brokenOff(open, thrown, copy.events())
  }
}

function estimated(reported: Usage | undefined, request: ChatRequest, copy: EventCopy): Usage {
  const own = estimateStream(request, copy.events())
  return reported === undefined ? own : estimateMissing(reported, own)
}

/** Events are parsed only for traced calls. */
function traceAnswer(
  { context: { trace } }: Call,
  end: Omit<StreamEnd, 'usage'>,
  copy: EventCopy,
): void {
  trace?.answered?.({
    id: end.identity.id,
    finishReasons: end.native ? [end.native.finishReason] : finishReasonsIn(copy.events()),
  })
}

/** Records an incomplete stream at the price of the delivered events. */
async function brokenOff(
  { stream, route, request, delivery: { call } }: OpenStream,
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
  result: CachedStream,
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
  const { events, ...end } = result as CachedStream
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

type EventCopy = ReturnType<typeof copyEvents>

/** Bytes to keep for the cache (0: none) and for the token estimate. */
type Limits = { cacheBytesMax: number; estimateBytesMax: number; memory: MemoryHold }

const slabBytes = 8192

/**
 * Keeps the events that pass, for the cache and for token estimates. They are copied into slabs,
 * since hundreds of small buffers that live as long as a stream burden the garbage collector.
 */
export function copyEvents(sink: EventSink, { cacheBytesMax, estimateBytesMax, memory }: Limits) {
  let bytesMax = Math.max(cacheBytesMax, estimateBytesMax)
  const full: Buffer[] = []
  let slab = Buffer.alloc(0)
  let used = 0
  let bytes = 0

  /** Reserves memory for a slab. When memory is short, the copy for the cache is dropped first. */
  const mayTake = (more: number): boolean =>
    (bytes <= estimateBytesMax ? memory.takeMore(more) : memory.take(more)) === undefined

  const append = (piece: Buffer) => {
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
    /** Whether all events were kept, within `cacheBytesMax`. */
    complete: () => bytes <= Math.min(cacheBytesMax, bytesMax),
    /** Keeps the events that are written, and forwards them. */
    sink: {
      onDrain: sink.onDrain,
      write: (piece: Buffer) => {
        bytes += piece.length
        if (bytes <= bytesMax) append(piece)
        return sink.write(piece)
      },
    },
  }
}
