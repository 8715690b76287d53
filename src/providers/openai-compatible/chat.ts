import type { ChatAdapter, ChatCompletion, ChatRequest, ChatResult } from '../../core/chat.ts'
import { conversationText, estimateTokens, spokenText } from '../../core/estimate.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { open, receive } from '../upstream.ts'
import { parseJson, wholeReader } from '../base64-reader.ts'
import { startStream } from './event-stream.ts'
import { readFailure } from './failure.ts'
import { readUsage, type WireUsage } from './usage.ts'
import { requestsTo, type OpenAiEndpoint } from './wire.ts'

/** Chat over `POST /chat/completions`: the canonical request as it is, without what is ours. */
export function chatAdapter(endpoint: OpenAiEndpoint): ChatAdapter {
  const { dispatch, keys, limits } = endpoint
  const requestTo = requestsTo(endpoint)
  const bytesMax = limits.answerBytesMax
  return {
    problems: () => [],
    complete: ({ request, route, signal }) => {
      const sent = requestTo('/chat/completions', wireRequest(request, route.upstreamModel))
      return receive({ dispatch, request: sent, signal, bytesMax }, (head) => {
        if (head.status !== 200) return readFailure(head, keys)
        const whole = wholeReader()
        return { push: whole.push, finish: () => readCompletion(whole.finish(), request) }
      })
    },
    stream: async ({ request, route, signal }) => {
      const sent = requestTo('/chat/completions', wireRequest(request, route.upstreamModel))
      const answer = await open({ dispatch, request: sent, signal })
      if (answer.head.status === 200) return startStream(answer, bytesMax)
      const failure = readFailure(answer.head, keys)
      await answer.each(failure.push)
      return failure.finish()
    },
  }
}

function wireRequest(request: ChatRequest, model: string): object {
  const { models: _models, image_config: _imageConfig, ...rest } = request
  if (request.stream !== true) return { ...rest, model }
  // The ledger wants the counts, also when the caller does not.
  return { ...rest, model, stream_options: { ...request.stream_options, include_usage: true } }
}

function readCompletion(bytes: Buffer, request: ChatRequest): ChatResult {
  const body = parseJson(bytes) as ChatCompletion & { usage?: WireUsage }
  const choices = body?.choices
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new ProviderFailure('malformed', 'The answer has no choices.')
  }
  const { usage: reported, ...completion } = body
  const said = choices.map(({ message }) => spokenText(message)).join('')
  const usage = readUsage(reported) ?? estimateTokens(conversationText(request), said)
  return { completion, usage, bytes: bytes.length }
}
