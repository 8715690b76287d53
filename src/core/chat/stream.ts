import type { components } from '../../../generated/types.ts'
import type { Call } from '../call.ts'
import type { GatewayError } from '../error.ts'
import type { Usage } from '../price.ts'
import type { Remembered } from '../recall/remembered.ts'
import type { Receipt } from '../receipt.ts'
import type { Route } from '../route.ts'
import type { ChatRequest, ChatStream, ChunkIdentity, EventSink } from './chat.ts'
import { estimateStream, estimateTokens } from './estimate.ts'
import { keepEvents } from './event-keeper.ts'

type Schemas = components['schemas']

/** A stream on its way to the caller. */
export type StreamedChat = {
  receipt: Receipt
  /**
   * Delivers it, and resolves with the events that end it. Never rejects: what breaks is told in the
   * stream, and recorded.
   */
  pipe(sink: EventSink): Promise<Buffer>
}

type Delivery = {
  stream: ChatStream
  call: Call
  route: Route
  receipt: Receipt
  request: ChatRequest
  /** How much of it may be kept for the cache. */
  bytesMax: number
  remember: (answer: Remembered) => void
}
type KeptStream = { events: Buffer; identity: ChunkIdentity }

/** What ends every stream that is whole. */
export const doneEvent = 'data: [DONE]\n\n'

/** Passes the events on, then records the call, and only then gives what ends the answer. */
export function deliverStream(delivery: Delivery): StreamedChat {
  const { stream, call, route, receipt, request, bytesMax, remember } = delivery
  return {
    receipt,
    pipe: async (sink) => {
      const kept = keepEvents(sink, bytesMax)
      try {
        const { usage: reported, identity } = await stream.forward(kept.sink)
        const usage = reported ?? estimateStream(request, kept.events())
        const final = await call.succeed({ route, usage }, receipt.warnings)
        if (kept.complete()) {
          const { model, provider, warnings } = final
          const result: KeptStream = { events: kept.events(), identity }
          const bytes = result.events.length
          remember({ modelId: model.row.id, provider, usage, warnings, bytes, result })
        }
        return closing(request, identity, final, usage)
      } catch (thrown) {
        const usage = partialUsage(stream, estimateStream(request, kept.events()))
        const error = await call.fail(thrown, { route, usage })
        return errorEvent(error)
      }
    },
  }
}

/** A remembered stream, all at once. */
export function replayStream(
  { result, usage = { ...estimateTokens('', ''), images: 0 } }: Remembered,
  receipt: Receipt,
  request: ChatRequest,
): StreamedChat {
  // Only `deliverStream` remembers under the key of a streamed request.
  const { events, identity } = result as KeptStream
  return {
    receipt,
    pipe: async (sink) => {
      sink.write(events)
      return closing(request, identity, receipt, usage)
    },
  }
}

/** An event that ends a stream which broke off (behaviour.md section 2). */
export function errorEvent(error: GatewayError): Buffer {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(error.toBody())}\n\n`)
}

/** The usage of an answer in OpenAI's form, with its cost. */
export function chatUsage(usage: Usage, { cost }: Receipt): Schemas['ChatUsage'] {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedInputTokens ?? 0,
      ...(usage.cacheWriteTokens ? { cache_write_tokens: usage.cacheWriteTokens } : {}),
      ...(usage.imageInputTokens ? { image_tokens: usage.imageInputTokens } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens ?? 0,
      ...(usage.imageOutputTokens ? { image_tokens: usage.imageOutputTokens } : {}),
    },
    cost: cost.nanoUsd === null ? null : cost.nanoUsd / 1e9,
    cost_status: cost.status,
    cost_details: cost.details,
  }
}

/** What the upstream has counted is right where it counted; the rest is estimated. */
function partialUsage(stream: ChatStream, estimated: Usage): Usage {
  const counted = stream.usageSoFar?.()
  if (counted === undefined) return estimated
  const outputTokens = Math.max(counted.outputTokens, estimated.outputTokens)
  return { ...counted, outputTokens, estimated: true }
}

function closing(
  request: ChatRequest,
  identity: ChunkIdentity,
  receipt: Receipt,
  usage: Usage,
): Buffer {
  if (request.stream_options?.include_usage !== true) return Buffer.from(doneEvent)
  const chunk: Schemas['ChatCompletionChunk'] = {
    ...identity,
    object: 'chat.completion.chunk',
    choices: [],
    usage: chatUsage(usage, receipt),
    ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
  }
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n${doneEvent}`)
}
