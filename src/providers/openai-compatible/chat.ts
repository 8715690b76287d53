import type { ChatAdapter, ChatAnswer, ChatCompletion, ChatRequest } from '../../core/chat/chat.ts'
import { conversationText, estimateTokens, spokenText } from '../../core/chat/estimate.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/price.ts'
import { jsonRequests } from '../transport/dispatch.ts'
import {
  open,
  parseJson,
  receive,
  wholeReader,
  type PieceReader,
  type UpstreamHead,
} from '../transport/upstream.ts'
import { inlineImages, needsInlining } from '../wire/inline-images.ts'
import { writeChat } from './chat-request.ts'
import { plainDialect, type ChatDialect } from './dialect.ts'
import type { OpenAiEndpoint } from './endpoint.ts'
import { startStream } from './event-stream.ts'
import { bodyFailure, readFailure } from './failure.ts'
import { withPlainThoughts } from './thoughts.ts'
import { readUsage, servedTier, type WireUsage } from './usage.ts'

const path = '/chat/completions'

/** Chat over `POST /chat/completions`. */
export function chatAdapter(endpoint: OpenAiEndpoint): ChatAdapter {
  const { dispatch, redact, limits, coalescing, dialect = plainDialect } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.answerBytesMax
  return {
    prepare: (request, target) => {
      const { body, problems, warnings } = writeChat(request, target, dialect)
      const fetches = dialect.inlineImages === true && needsInlining(request)
      const written = async (signal: AbortSignal) => {
        const inlined = await inlineImages(request, endpoint.readSources, signal)
        return writeChat(inlined, target, dialect).body
      }
      const read = (head: UpstreamHead): PieceReader<ChatAnswer> => {
        if (head.status !== 200) return readFailure(head, redact)
        const whole = wholeReader()
        const finish = () => readCompletion(whole.finish(), request, dialect)
        return { push: whole.push, finish }
      }
      const ask = (wire: object, signal: AbortSignal) =>
        receive({ dispatch, request: requestTo(path, wire), signal, bytesMax }, read)
      return {
        problems,
        warnings,
        complete: ({ signal }) =>
          fetches ? written(signal).then((wire) => ask(wire, signal)) : ask(body, signal),
        stream: async ({ signal }) => {
          const sent = requestTo(path, fetches ? await written(signal) : body)
          const answer = await open({ dispatch, request: sent, signal, coalescing })
          if (answer.head.status === 200) return startStream(answer, limits, dialect)
          const failure = readFailure(answer.head, redact)
          await answer.each(failure.push)
          return failure.finish()
        },
      }
    },
  }
}

type WireCompletion = ChatCompletion & {
  usage?: WireUsage
  warnings?: unknown
  error?: unknown
  service_tier?: unknown
}

function readCompletion(bytes: Buffer, request: ChatRequest, dialect: ChatDialect): ChatAnswer {
  // Not validated: `receive` reports a wrong shape as `malformed`.
  const body = parseJson(bytes) as WireCompletion | null
  const choices = body?.choices
  if (!Array.isArray(choices) || choices.length === 0) {
    throw bodyFailure(body) ?? new ProviderFailure('malformed', 'The answer has no choices.')
  }
  for (const choice of choices) normalise(choice, dialect)
  // The gateway adds its own `usage` and `warnings` to an answer.
  const { usage: reported, warnings: _warnings, ...completion } = body!
  const counted = readUsage(reported, dialect.readCost) ?? estimateUsage(request, choices)
  const usage = { ...counted, ...servedTier(body!.service_tier) }
  return { completion, usage, bytes: bytes.length }
}

function estimateUsage(request: ChatRequest, choices: ChatCompletion['choices']): Usage {
  const said = choices.map(({ message }) => spokenText(message)).join('')
  return estimateTokens(conversationText(request), said)
}

/** Rewrites a vendor's deviations to OpenAI's format, in place. */
function normalise(
  choice: ChatCompletion['choices'][number],
  { finishReasons, ownThoughts }: ChatDialect,
): void {
  const reason = choice.finish_reason
  if (reason === 'error' || reason === 'network_error') {
    throw new ProviderFailure('overloaded', 'The provider failed while it answered.')
  }
  if (finishReasons !== undefined && reason !== null) {
    choice.finish_reason = finishReasons[reason] ?? reason
  }
  if (ownThoughts !== undefined && choice.message !== undefined) {
    const plain = withPlainThoughts(choice.message)
    choice.message = { ...plain, content: plain.content ?? null }
  }
  for (const call of choice.message?.tool_calls ?? []) {
    if (call?.type === 'custom') continue
    const written: unknown = call?.function?.arguments
    if (typeof written === 'object') call.function.arguments = JSON.stringify(written ?? {})
  }
}
