import type { components } from '../../generated/types.ts'
import type { ChatRequest } from '../core/chat/chat.ts'
import type { StreamedChat, StreamOutcome } from '../core/chat/stream.ts'
import type { Usage } from '../core/money/price.ts'
import type { Receipt } from '../core/receipt.ts'
import type { Answer } from '../http/answer.ts'
import { errorBody } from '../http/error-answer.ts'
import { costFields } from './cost-fields.ts'

type Schemas = components['schemas']

/** The event that ends every complete stream. */
export const doneEvent = 'data: [DONE]\n\n'

/** Writes a stream's chunks to the sink, and returns the last events. */
export function streamChat(
  { pipe }: StreamedChat,
  request: ChatRequest,
  requestId: string,
): Required<Pick<Answer, 'events' | 'brokenOff'>> {
  let outcome: StreamOutcome | undefined
  return {
    events: async (sink) => {
      outcome = await pipe(sink)
      return Buffer.from(lastEvents(outcome, request, requestId))
    },
    brokenOff: () => outcome?.error !== undefined,
  }
}

/** The usage chunk if requested, then `[DONE]`; after a failure an error event instead. */
function lastEvents(outcome: StreamOutcome, request: ChatRequest, requestId: string): string {
  if (outcome.error !== undefined) {
    return `event: error\ndata: ${JSON.stringify(errorBody(outcome.error, requestId))}\n\n`
  }
  if (request.stream_options?.include_usage !== true) return doneEvent
  const { identity, usage, receipt } = outcome
  const chunk: Schemas['ChatCompletionChunk'] = {
    ...identity,
    object: 'chat.completion.chunk',
    choices: [],
    usage: chatUsage(usage, receipt),
    ...(receipt.warnings.length > 0 ? { warnings: [...receipt.warnings] } : {}),
  }
  return `data: ${JSON.stringify(chunk)}\n\n${doneEvent}`
}

/** The usage of an answer in OpenAI's form, with the cost fields. */
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
      ...(usage.audioInputTokens ? { audio_tokens: usage.audioInputTokens } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens ?? 0,
      ...(usage.imageOutputTokens ? { image_tokens: usage.imageOutputTokens } : {}),
      ...(usage.audioOutputTokens ? { audio_tokens: usage.audioOutputTokens } : {}),
    },
    ...costFields(cost),
  }
}
