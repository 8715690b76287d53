import type { InputTokenCountParams } from 'openai/resources/responses/input-tokens'
import type {
  ChatAnswer,
  ChatRequest,
  ChatTurn,
  NativeRequest,
  PreparedChat,
} from '../../../core/chat/chat.ts'
import type { Target } from '../../../core/model.ts'
import { readFailure, type ErrorReading } from '../../openai-compatible/failure.ts'
import {
  jsonRequests,
  withKey,
  type UpstreamHead,
  type UpstreamRequest,
} from '../../transport/dispatch.ts'
import type { Endpoint } from '../../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../../transport/upstream.ts'
import { membersOf } from '../../../core/any-json.ts'
import { tokensMaxOf } from '../../wire/token-count.ts'
import { openNative } from '../../wire/native-stream.ts'
import { openTranslated } from '../../wire/translated-stream.ts'
import { countInput } from '../../wire/count-input.ts'
import { kindOfCode, readResponse, type Reading } from './answer.ts'
import { nativeAnswer, nativeReader, writeNative } from './native.ts'
import { writeResponses, type WireRequest } from './request.ts'
import { translator } from './stream.ts'

const path = '/responses'

type ResponsesAdapter = {
  prepare(request: ChatRequest, target: Target): PreparedChat & Asking
  /** Asks as the request of a caller of this API came. */
  asItCame(native: NativeRequest, request: ChatRequest, target: Target): Asking
}
type Asking = Required<Pick<PreparedChat, 'complete' | 'stream' | 'countInput'>>
/** A request to send; `seal` is for an answer in the form of the caller's API. */
type Sending = { body: WireRequest; seal: NativeRequest['seal'] | undefined }

/** Chat over OpenAI's Responses API (docs/vendors.md#openai-responses). */
export function responsesAdapter(endpoint: Endpoint): ResponsesAdapter {
  const { dispatch, texts, limits } = endpoint
  const requestTo = jsonRequests(endpoint)
  const bytesMax = limits.jsonBytesMax
  const counting: ErrorReading = { texts, hasOtherPaths: true, failureKind: kindOfCode }

  const asking = ({ body, seal }: Sending, request: ChatRequest, target: Target): Asking => {
    const { upstreamModel, provider } = target
    const tokensMax = tokensMaxOf(target)
    /** Sends the request, and again without the reasoning that the vendor cannot decrypt. */
    const send = async <Answer>(
      { createdSeconds, idempotencyKey }: ChatTurn,
      ask: (sent: UpstreamRequest, reading: Reading) => Promise<Answer>,
    ): Promise<Answer> => {
      let isUnreadable = false
      const errors: ErrorReading = {
        texts,
        hasOtherPaths: true,
        failureKind: (complaint) => {
          isUnreadable ||= /encrypted content/i.test(complaint.message ?? '')
          return kindOfCode(complaint)
        },
      }
      const reading = { request, createdSeconds, upstreamModel, provider, tokensMax, errors }
      const first = withKey(requestTo(path, body), 'idempotency-key', idempotencyKey)
      try {
        return await ask(first, reading)
      } catch (error) {
        const lighter = isUnreadable ? withoutThoughts(body) : undefined
        if (lighter === undefined) throw error
        return ask(requestTo(path, lighter), reading)
      }
    }
    return {
      countInput: (turn) => {
        const request = requestTo(`${path}/input_tokens`, countedOf(body))
        const failing = { readFailure: (head: UpstreamHead) => readFailure(head, counting) }
        return countInput({ endpoint, request, member: 'input_tokens', ...failing }, turn)
      },
      complete: (turn) =>
        send(turn, (sent, reading) =>
          receive({ dispatch, request: sent, bytesMax, copies: printedCopies }, turn, (head) =>
            head.status === 200
              ? wholeReader((bytes) => readWhole(bytes, reading, seal))
              : readFailure(head, reading.errors),
          ),
        ),
      stream: (turn) =>
        send(turn, (sent, reading) => {
          const failing = (head: UpstreamHead) => readFailure(head, reading.errors)
          const opening = { endpoint, request: sent, readFailure: failing }
          return seal === undefined
            ? openTranslated(opening, turn, () =>
                translator({ ...reading, answerBytesMax: bytesMax }),
              )
            : openNative(opening, turn, () => nativeReader({ ...reading, seal }))
        }),
    }
  }
  return {
    prepare: (request, target) => {
      const { body, problems, warnings } = writeResponses(request, target)
      return { problems, warnings, ...asking({ body, seal: undefined }, request, target) }
    },
    asItCame: (native, request, target) =>
      asking({ body: writeNative(native, target), seal: native.seal }, request, target),
  }
}

/** Reads a whole answer; with `seal` also in the form of the caller's API. Throws a ProviderFailure. */
function readWhole(bytes: Buffer, reading: Reading, seal: Sending['seal']): ChatAnswer {
  const response = membersOf(parseJson(bytes))
  const answer = { ...readResponse(response, reading), bytes: bytes.length }
  if (seal === undefined) return answer
  return { ...answer, native: nativeAnswer(response, { ...reading, seal }) }
}

/** The request without reasoning; undefined if it has none. */
function withoutThoughts(body: WireRequest): WireRequest | undefined {
  const input = body.input.filter(({ type }) => type !== 'reasoning')
  return input.length === body.input.length ? undefined : { ...body, input }
}

/** The members of a request that its token count takes. */
function countedOf({
  input,
  instructions,
  model,
  parallel_tool_calls,
  reasoning,
  text,
  tool_choice,
  tools,
  truncation,
}: WireRequest): InputTokenCountParams {
  const asked = { model, input, instructions, reasoning, text, tools, tool_choice }
  // The types of the two requests differ in details of the choice of a tool.
  return { ...asked, parallel_tool_calls, truncation } as InputTokenCountParams
}
