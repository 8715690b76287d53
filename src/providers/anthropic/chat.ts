import type { Message } from '@anthropic-ai/sdk/resources/messages'
import type {
  ChatAdapter,
  ChatAnswer,
  ChatCompletion,
  ChatRequest,
  ChatTurn,
  NativeRequest,
} from '../../core/chat/chat.ts'
import { estimateAnswer } from '../../core/chat/estimate.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import type { Target } from '../../core/model.ts'
import type { Turn } from '../../core/turn.ts'
import { jsonRequests, type UpstreamHead, type UpstreamRequest } from '../transport/dispatch.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../transport/upstream.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { callIdOf, identityOf } from '../wire/ids.ts'
import { countInput } from '../wire/count-input.ts'
import { nativeFirst, openNative } from '../wire/native-stream.ts'
import { openTranslated } from '../wire/translated-stream.ts'
import { tokensMaxOf } from '../wire/token-count.ts'
import { writeChat } from './chat-request.ts'
import { translator, type Reading } from './chat-stream.ts'
import { bodyFailure, finishReasonOf, readFailure, readUsage, refusalOf } from './answer.ts'
import { thoughtIn, withThoughts, type Thought } from './thoughts.ts'
import { countedOf, nativeAnswer, nativeBody, nativeReader, writeNative } from './native.ts'
import { searchesIn } from './search.ts'

/** Newer versions refuse the sampling fields (docs/vendors.md#anthropic-versions). */
export const versionHeaders = { 'anthropic-version': '2023-06-01' }
const path = '/v1/messages'
const countPath = `${path}/count_tokens`

/** Chat over the Messages API. A request of a caller of this API is sent verbatim, if possible. */
export function chatAdapter(endpoint: Endpoint): ChatAdapter {
  const { dispatch, texts, limits } = endpoint
  const requestTo = jsonRequests(endpoint, { headers: versionHeaders })
  const bytesMax = limits.jsonBytesMax
  const failing = { readFailure: (head: UpstreamHead) => readFailure(head, texts) }
  const whole = ({ request, seal }: Sending, turn: ChatTurn, question: Reading) =>
    receive({ dispatch, request, bytesMax, copies: printedCopies }, turn, (head) =>
      head.status === 200
        ? wholeReader((bytes) => readMessage(bytes, question, seal))
        : readFailure(head, texts),
    )
  const stream = ({ request, seal }: Sending, turn: ChatTurn, question: Reading) => {
    const opening = { endpoint, request, ...failing }
    return seal === undefined
      ? openTranslated(opening, turn, () => translator(question))
      : openNative(opening, turn, () => nativeReader({ ...question, seal }))
  }
  return {
    takesResultMedia: true,
    prepare: (request, target, native) => {
      const { body, problems, warnings } = writeChat(request, target)
      const { upstreamModel } = target
      const tokensMax = tokensMaxOf(target)
      const askedIn = ({ createdSeconds }: ChatTurn): Reading => {
        const from = { request, createdSeconds, upstreamModel }
        return { ...from, tokensMax, texts, answerBytesMax: bytesMax }
      }
      const asking = (sending: () => Sending) => ({
        complete: (turn: ChatTurn) => whole(sending(), turn, askedIn(turn)),
        stream: (turn: ChatTurn) => stream(sending(), turn, askedIn(turn)),
        countInput: (turn: Turn) => {
          const request = sending().counted()
          return countInput({ endpoint, request, member: 'input_tokens', ...failing }, turn)
        },
      })
      const counted = () => requestTo(countPath, countedOf(body))
      const translated = {
        problems,
        warnings,
        ...asking(() => ({ request: requestTo(path, body), counted, seal: undefined })),
      }
      if (native === undefined || problems.length > 0) return translated
      const asItCame = sendingNative(native, { request, target, endpoint })
      if (asItCame === undefined) return translated
      return nativeFirst(
        asking(() => asItCame),
        translated,
        native.isTranslatable && native.only === undefined,
      )
    },
  }
}

/** A request to send; `seal` is for an answer in the form of the caller's API. */
type Sending = {
  request: UpstreamRequest
  counted: () => UpstreamRequest
  seal: NativeRequest['seal'] | undefined
}

function sendingNative(
  native: NativeRequest,
  { request, target, endpoint }: { request: ChatRequest; target: Target; endpoint: Endpoint },
): Sending | undefined {
  const text = native.api === 'messages' ? writeNative(native, request, target) : undefined
  if (text === undefined) return undefined
  const headers = { ...versionHeaders, ...native.headers }
  const requestTo = jsonRequests(endpoint, { headers, print: () => text })
  const counted = () =>
    jsonRequests(endpoint, { headers })(countPath, countedOf(nativeBody(native, target)))
  return { request: requestTo(path, undefined), counted, seal: native.seal }
}

type WireMessage = (Partial<Message> & { error?: unknown }) | null

function readMessage(bytes: Buffer, question: Reading, seal: Sending['seal']): ChatAnswer {
  // The answer is not validated: a wrong shape is reported as `malformed`.
  const wire = parseJson(bytes) as WireMessage
  try {
    const answer = answerIn(wire, bytes.length, question)
    if (seal === undefined) return answer
    // `answerIn` has checked that it is a message.
    return { ...answer, native: nativeAnswer(wire as Message, seal, question.upstreamModel) }
  } catch (error) {
    throw countedFailure(error, readUsage(wire?.usage, question.tokensMax, question.texts))
  }
}

function answerIn(wire: WireMessage, bytes: number, question: Reading): ChatAnswer {
  const { texts } = question
  if (wire?.error != null) throw bodyFailure(wire, texts)
  if (!Array.isArray(wire?.content)) {
    throw new ProviderFailure('malformed', 'The answer is not a message.')
  }
  const message = answerOf(wire.content, question.upstreamModel, texts)
  if (wire.stop_reason === 'refusal') {
    message.refusal = refusalOf(wire.stop_details, texts)
    if (message.content === '') message.content = null
  }
  const { id, created, model } = identityOf(wire, question)
  const completion: ChatCompletion = {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      { index: 0, message, logprobs: null, finish_reason: finishReasonOf(wire.stop_reason) },
    ],
  }
  const usage =
    readUsage(wire.usage, question.tokensMax, texts) ?? estimateAnswer(question.request, [message])
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
    ...searchesIn(blocks, texts),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
