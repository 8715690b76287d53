import type { ChatAdapter, ChatAnswer, ChatCompletion, ChatTurn } from '../../core/chat/chat.ts'
import { estimateAnswer } from '../../core/chat/estimate.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Turn } from '../../core/turn.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests, type UpstreamHead } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { identityOf } from '../wire/ids.ts'
import { countInput } from '../wire/count-input.ts'
import { inlineImages, needsInlining } from '../../core/chat/pictures.ts'
import { tokensMaxOf } from '../wire/token-count.ts'
import { openTranslated } from '../wire/translated-stream.ts'
import { withSearches } from '../wire/web-search.ts'
import {
  bodyFailure,
  choiceIndex,
  finishReasonOf,
  logprobsOf,
  readFailure,
  readUsage,
  refusalOf,
  refuseBlocked,
  toolCallOf,
  type CallPlace,
  type WireAnswer,
  type WireCandidate,
} from './answer.ts'
import { writeChat, type WireRequest } from './chat-request.ts'
import { translator, type Reading } from './chat-stream.ts'
import { searchesCharged, searchesIn } from './search.ts'

/** Chat over `generateContent` and `streamGenerateContent`. */
export function chatAdapter(
  endpoint: Endpoint,
  modelsPath: string,
  countedOf: CountedOf,
): ChatAdapter {
  const { dispatch, texts, limits, readSources } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.jsonBytesMax
  const failing = { readFailure: (head: UpstreamHead) => readFailure(head, texts) }
  return {
    takesResultMedia: true,
    prepare: (request, target) => {
      const { body, problems, warnings } = writeChat(request, target)
      const tokensMax = tokensMaxOf(target, request.n ?? 1)
      const fetches = needsInlining(request)
      const readingIn = ({ createdSeconds }: ChatTurn): Reading => {
        const { upstreamModel } = target
        return { request, createdSeconds, upstreamModel, tokensMax, texts, target }
      }
      const send = async (method: string, turn: Turn, write: CountedOf = same) => {
        const { upstreamModel } = target
        const path = `${modelsPath}/${encodeURIComponent(upstreamModel)}:${method}`
        if (!fetches) return requestTo(path, write(body, upstreamModel))
        const inlined = await inlineImages(request, readSources, { ...turn, takesHeic: true })
        return requestTo(path, write(writeChat(inlined, target).body, upstreamModel))
      }
      return {
        problems,
        warnings,
        complete: async (turn) => {
          const sent = await send('generateContent', turn)
          const receiving = { dispatch, request: sent, bytesMax, copies: printedCopies }
          return receive(receiving, turn, (head) =>
            head.status === 200
              ? wholeReader((bytes) => readAnswer(bytes, readingIn(turn)))
              : readFailure(head, texts),
          )
        },
        stream: async (turn) => {
          const sent = await send('streamGenerateContent?alt=sse', turn)
          return openTranslated({ endpoint, request: sent, ...failing }, turn, () =>
            translator(readingIn(turn)),
          )
        },
        countInput: async (turn) => {
          const counted = await send('countTokens', turn, countedOf)
          return countInput({ endpoint, request: counted, member: 'totalTokens', ...failing }, turn)
        },
      }
    },
  }
}

type CountedOf = (body: WireRequest, model: string) => object

const same: CountedOf = (body) => body

function readAnswer(bytes: Buffer, question: Reading): ChatAnswer {
  // The answer is not validated: a wrong shape is reported as `malformed`.
  const answer = (parseJson(bytes) ?? {}) as WireAnswer & { error?: unknown }
  try {
    return answerIn(answer, bytes.length, question)
  } catch (error) {
    throw countedFailure(error, readUsage(answer.usageMetadata, question.tokensMax))
  }
}

function answerIn(
  answer: WireAnswer & { error?: unknown },
  bytes: number,
  question: Reading,
): ChatAnswer {
  const { texts } = question
  if (answer.error != null) throw bodyFailure(answer, texts)
  refuseBlocked(answer, texts)
  const { candidates, responseId, modelVersion, usageMetadata } = answer
  if (!Array.isArray(candidates) || candidates.length === 0) {
    throw new ProviderFailure('malformed', 'The answer has no candidates.')
  }
  const { id, created, model } = identityOf({ id: responseId, model: modelVersion }, question)
  const completion: ChatCompletion = {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: candidates.map((candidate, place) =>
      choiceOf(candidate, { place, answer: id, provider: question.target.provider.id, texts }),
    ),
  }
  const said = completion.choices.map(({ message }) => message)
  const counted =
    readUsage(usageMetadata, question.tokensMax) ?? estimateAnswer(question.request, said)
  const grounding = candidates.map(({ groundingMetadata }) => groundingMetadata)
  const searches = searchesCharged(grounding, question.target)
  return { completion, usage: withSearches(counted, searches), bytes }
}

type MadeBy = Pick<CallPlace, 'answer' | 'provider'>

function choiceOf(
  candidate: WireCandidate,
  { place, texts, ...made }: { place: number; texts: VendorTexts } & MadeBy,
): ChatCompletion['choices'][number] {
  const index = choiceIndex(candidate, place)
  const parts = candidate.content?.parts ?? []
  const text = (thought: boolean) =>
    parts.map((part) => ((part.thought === true) === thought ? (part.text ?? '') : '')).join('')
  const content = text(false)
  const reasoning = text(true)
  const calls = parts
    .filter(({ functionCall }) => functionCall !== undefined)
    .map((part, call) => toolCallOf(part, { ...made, choice: index, call }, texts))
  const refusal = refusalOf(candidate, texts) ?? null
  const silent = content === '' && (calls.length > 0 || refusal !== null)
  return {
    index,
    message: {
      role: 'assistant',
      content: silent ? null : content,
      refusal,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...searchesIn(candidate.groundingMetadata, { text: content, answer: made.answer }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    logprobs: logprobsOf(candidate.logprobsResult),
    finish_reason: finishReasonOf(candidate, {
      anything: content !== '' || calls.length > 0,
      calls: calls.length,
    }),
  }
}
