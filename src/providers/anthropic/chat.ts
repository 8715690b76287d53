import type { Message } from '@anthropic-ai/sdk/resources/messages'
import type { ChatAdapter, ChatAnswer, ChatCompletion, ChatRequest } from '../../core/chat/chat.ts'
import { estimateAnswer } from '../../core/chat/estimate.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { answerId } from '../wire/answer-id.ts'
import { callIdOf } from '../wire/call-id.ts'
import { openTranslated } from '../wire/translated-stream.ts'
import { tokensMaxOf, type TokensMax } from '../wire/token-count.ts'
import { writeChat } from './chat-request.ts'
import { translator } from './chat-stream.ts'
import { bodyFailure, readFailure } from './failure.ts'
import { finishReasonOf, refusalOf } from './finish-reason.ts'
import { thoughtIn, withThoughts, type Thought } from './thoughts.ts'
import { readUsage } from './usage.ts'

/** Newer versions refuse the sampling fields (docs/vendors.md#anthropic-versions). */
export const versionHeaders = { 'anthropic-version': '2023-06-01' }
const path = '/v1/messages'

/** Chat over the Messages API. */
export function chatAdapter(endpoint: Endpoint): ChatAdapter {
  const { dispatch, texts, limits, coalescing } = endpoint
  const requestTo = jsonRequests(endpoint, { headers: versionHeaders })
  const bytesMax = limits.jsonBytesMax
  return {
    prepare: (request, target) => {
      const { body, problems, warnings } = writeChat(request, target)
      const tokensMax = tokensMaxOf(target)
      return {
        problems,
        warnings,
        complete: ({ signal, hold, traceHeaders, createdSeconds }) =>
          receive(
            {
              dispatch,
              request: requestTo(path, body),
              signal,
              hold,
              traceHeaders,
              bytesMax,
              copies: printedCopies,
            },
            (head) => {
              if (head.status !== 200) return readFailure(head, texts)
              const whole = wholeReader()
              const { upstreamModel } = target
              const asked = { request, createdSeconds, upstreamModel, tokensMax, texts }
              const finish = () => readMessage(whole.finish(), asked)
              return { push: whole.push, finish }
            },
          ),
        stream: ({ signal, hold, traceHeaders, createdSeconds }) => {
          const { upstreamModel } = target
          const options = { createdSeconds, upstreamModel, texts, tokensMax }
          return openTranslated({
            dispatch,
            request: requestTo(path, body),
            signal,
            hold,
            traceHeaders,
            coalescing,
            limits,
            readFailure: (head) => readFailure(head, texts),
            translator: () => translator({ ...options, answerBytesMax: bytesMax }),
          })
        },
      }
    },
  }
}

type Asked = {
  request: ChatRequest
  createdSeconds: number
  upstreamModel: string
  tokensMax: TokensMax
  texts: VendorTexts
}
type WireMessage = (Partial<Message> & { error?: unknown }) | null

function readMessage(bytes: Buffer, asked: Asked): ChatAnswer {
  // The answer is not validated: a wrong shape is reported as `malformed`.
  const wire = parseJson(bytes) as WireMessage
  try {
    return answerIn(wire, bytes.length, asked)
  } catch (error) {
    throw countedFailure(error, readUsage(wire?.usage, asked.tokensMax, asked.texts))
  }
}

function answerIn(wire: WireMessage, bytes: number, asked: Asked): ChatAnswer {
  const { texts } = asked
  if (wire?.error !== undefined) throw bodyFailure(wire, texts)
  if (!Array.isArray(wire?.content)) {
    throw new ProviderFailure('malformed', 'The answer is not a message.')
  }
  const message = answerOf(wire.content, asked.upstreamModel, texts)
  if (wire.stop_reason === 'refusal') {
    message.refusal = refusalOf(wire.stop_details, texts)
    if (message.content === '') message.content = null
  }
  const completion: ChatCompletion = {
    id: answerId(wire.id, texts),
    object: 'chat.completion',
    created: asked.createdSeconds,
    model: texts.name(wire.model) ?? asked.upstreamModel,
    choices: [
      { index: 0, message, logprobs: null, finish_reason: finishReasonOf(wire.stop_reason) },
    ],
  }
  const usage =
    readUsage(wire.usage, asked.tokensMax, texts) ?? estimateAnswer(asked.request, [message])
  return { completion, usage, bytes }
}

function answerOf(
  blocks: Message['content'],
  upstreamModel: string,
  texts: VendorTexts,
): ChatCompletion['choices'][number]['message'] {
  let text = ''
  let thinking = ''
  let thoughts: Thought[] = []
  const calls = blocks.flatMap((block) => {
    if (block.type === 'text') text += block.text
    if (block.type === 'thinking') thinking += block.thinking
    const thought = thoughtIn(block)
    if (thought !== undefined) thoughts.push(thought)
    if (block.type !== 'tool_use') return []
    const before = thoughts
    thoughts = []
    const call = { name: block.name, arguments: JSON.stringify(block.input ?? {}) }
    const made = { id: callIdOf(block.id, texts), type: 'function' as const, function: call }
    return [withThoughts(made, before, upstreamModel)]
  })
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
