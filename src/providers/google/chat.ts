import type { ChatAdapter, ChatAnswer, ChatCompletion, ChatRequest } from '../../core/chat/chat.ts'
import { conversationText, estimateTokens, spokenText } from '../../core/chat/estimate.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { open, parseJson, receive, wholeReader } from '../transport/upstream.ts'
import { inlineImages, needsInlining } from '../wire/inline-images.ts'
import { translateStream } from '../wire/translated-stream.ts'
import {
  finishReasonOf,
  logprobsOf,
  refuseBlocked,
  toolCallOf,
  type WireAnswer,
  type WireCandidate,
} from './answer.ts'
import { writeChat } from './chat-request.ts'
import { translator } from './chat-stream.ts'
import { readFailure } from './failure.ts'
import { readUsage } from './usage.ts'

/** Chat over `generateContent` and `streamGenerateContent`. */
export function chatAdapter(endpoint: Endpoint): ChatAdapter {
  const { dispatch, redact, limits, coalescing, readSources } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.answerBytesMax
  return {
    prepare: (request, target) => {
      const { body, problems, warnings } = writeChat(request, target)
      const fetches = needsInlining(request)
      const send = async (method: string, signal: AbortSignal) => {
        const path = `/v1beta/models/${encodeURIComponent(target.upstreamModel)}:${method}`
        if (!fetches) return requestTo(path, body)
        const inlined = await inlineImages(request, readSources, signal)
        return requestTo(path, writeChat(inlined, target).body)
      }
      return {
        problems,
        warnings,
        complete: async ({ signal, createdSeconds }) => {
          const sent = await send('generateContent', signal)
          return receive({ dispatch, request: sent, signal, bytesMax }, (head) => {
            if (head.status !== 200) return readFailure(head, redact)
            const whole = wholeReader()
            const finish = () => readAnswer(whole.finish(), request, createdSeconds)
            return { push: whole.push, finish }
          })
        },
        stream: async ({ signal, createdSeconds }) => {
          const sent = await send('streamGenerateContent?alt=sse', signal)
          const answer = await open({ dispatch, request: sent, signal, coalescing })
          if (answer.head.status === 200) {
            return translateStream(answer, limits, translator(createdSeconds))
          }
          const failure = readFailure(answer.head, redact)
          await answer.each(failure.push)
          return failure.finish()
        },
      }
    },
  }
}

function readAnswer(bytes: Buffer, request: ChatRequest, created: number): ChatAnswer {
  // Not validated: `receive` reports a wrong shape as `malformed`.
  const answer = (parseJson(bytes) ?? {}) as WireAnswer
  refuseBlocked(answer)
  const { candidates, responseId = '', modelVersion = '', usageMetadata } = answer
  if (!Array.isArray(candidates) || candidates.length === 0) {
    throw new ProviderFailure('malformed', 'The answer has no candidates.')
  }
  const completion: ChatCompletion = {
    id: responseId,
    object: 'chat.completion',
    created,
    model: modelVersion,
    choices: candidates.map((candidate) => choiceOf(candidate, answer)),
  }
  const said = completion.choices.map(({ message }) => spokenText(message)).join('')
  const usage = readUsage(usageMetadata) ?? estimateTokens(conversationText(request), said)
  return { completion, usage, bytes: bytes.length }
}

function choiceOf(candidate: WireCandidate, answer: WireAnswer): ChatCompletion['choices'][number] {
  const parts = candidate.content?.parts ?? []
  const text = (thought: boolean) =>
    parts.map((part) => ((part.thought === true) === thought ? (part.text ?? '') : '')).join('')
  const content = text(false)
  const reasoning = text(true)
  const calls = parts
    .filter(({ functionCall }) => functionCall !== undefined)
    .map((part, index) => toolCallOf(part, answer, index))
  const anything = content !== '' || reasoning !== '' || calls.length > 0
  return {
    index: candidate.index ?? 0,
    message: {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      refusal: null,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    logprobs: logprobsOf(candidate.logprobsResult),
    finish_reason: finishReasonOf(candidate, { anything, calls: calls.length }),
  }
}
