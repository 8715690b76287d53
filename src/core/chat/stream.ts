import type { RequestLimit } from '../caller.ts'
import type { GatewayError } from '../error.ts'
import type { Warning } from '../model.ts'
import type { Usage } from '../price.ts'
import type { Remembered } from '../recall/remembered.ts'
import type { Receipt } from '../receipt.ts'
import type { Route } from '../route.ts'
import { joined, type Delivery } from '../work.ts'
import type { ChatRequest, ChatStream, ChunkIdentity, EventSink } from './chat.ts'
import { estimateStream, estimateTokens } from './estimate.ts'
import { keepEvents } from './event-keeper.ts'

/** How a stream ended: whole, with what is told behind its last event, or broken off. */
export type StreamOutcome =
  | { identity: ChunkIdentity; usage: Usage; receipt: Receipt; error?: never }
  | { error: GatewayError }

/** A stream on its way to the caller. */
export type StreamedChat = {
  /** What is known of the call so far. */
  receipt: Receipt
  limit: RequestLimit
  /** Delivers it. Never rejects: what breaks is recorded, and told as the outcome. */
  pipe(sink: EventSink): Promise<StreamOutcome>
}

type Begun = {
  stream: ChatStream
  route: Route
  warnings: readonly Warning[]
  request: ChatRequest
  delivery: Delivery
  /** How much of it may be kept for the cache. */
  keptBytesMax: number
}
type KeptStream = { events: Buffer; identity: ChunkIdentity }

/** Passes the events on, then records the call, and only then gives the outcome. */
export function deliverStream(begun: Begun): StreamedChat {
  const { stream, route, request, keptBytesMax } = begun
  const { call, limit, keep } = begun.delivery
  const warnings = joined(begun.delivery.warnings, begun.warnings)
  return {
    receipt: call.receiptSoFar(route, warnings),
    limit,
    pipe: async (sink) => {
      const kept = keepEvents(sink, keep === undefined ? 0 : keptBytesMax)
      try {
        const { usage: reported, identity } = await stream.forward(kept.sink)
        const usage = reported ?? estimateStream(request, kept.events())
        const receipt = await call.succeed({ route, usage }, warnings)
        if (kept.complete()) keep?.(remembered({ events: kept.events(), identity }, usage, receipt))
        return { identity, usage, receipt }
      } catch (thrown) {
        const usage = partialUsage(stream, estimateStream(request, kept.events()))
        return { error: await call.fail(thrown, { route, usage }) }
      }
    },
  }
}

function remembered(
  result: KeptStream,
  usage: Usage,
  { model, provider, warnings }: Receipt,
): Remembered {
  return { modelId: model.row.id, provider, usage, warnings, bytes: result.events.length, result }
}

/** A remembered stream, all at once. */
export function replayStream(
  { result, usage = { ...estimateTokens('', ''), images: 0 } }: Remembered,
  receipt: Receipt,
  limit: RequestLimit,
): StreamedChat {
  // Only `deliverStream` remembers under the key of a streamed request.
  const { events, identity } = result as KeptStream
  return {
    receipt,
    limit,
    pipe: async (sink) => {
      sink.write(events)
      return { identity, usage, receipt }
    },
  }
}

/** What the upstream has counted is right where it counted; the rest is estimated. */
function partialUsage(stream: ChatStream, estimated: Usage): Usage {
  const counted = stream.usageSoFar?.()
  if (counted === undefined) return estimated
  const outputTokens = Math.max(counted.outputTokens, estimated.outputTokens)
  return { ...counted, outputTokens, estimated: true }
}
