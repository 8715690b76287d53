import type { InputTokenCountParams } from 'openai/resources/responses/input-tokens'
import type {
  ChatAnswer,
  ChatRequest,
  ChatTurn,
  NativeAnswer,
  NativeRequest,
  PreparedChat,
} from '../../../core/chat/chat.ts'
import type { Target } from '../../../core/model.ts'
import { eventFailure, readFailure, type ErrorReading } from '../../openai-compatible/failure.ts'
import {
  jsonRequests,
  withKey,
  type UpstreamHead,
  type UpstreamRequest,
} from '../../transport/dispatch.ts'
import type { Endpoint } from '../../transport/endpoint.ts'
import { parseJson, printedCopies, receive, wholeReader } from '../../transport/upstream.ts'
import { itemsOf, membersOf, textIn, type Members } from '../../../core/any-json.ts'
import { openAiTier, tokensMaxOf } from '../../wire/token-count.ts'
import { openNative, type NativeReader } from '../../wire/native-stream.ts'
import { brokenOff, openTranslated, parseEvent } from '../../wire/translated-stream.ts'
import { countInput } from '../../wire/count-input.ts'
import {
  failureIn,
  finishReasonOf,
  identityOf,
  kindOfCode,
  readResponse,
  readUsage,
  type Reading,
} from './answer.ts'
import { writeResponses, type WireRequest } from './request.ts'
import { translator } from './stream.ts'
import { compactionIn } from '../../../core/chat/sealed-thoughts.ts'
import { searchCounter } from './search.ts'
import { encryptedIn, extraOf, thoughtsOfCall } from './thoughts.ts'

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

/** The account, and the maker of an answer. */
type Sealing = Pick<Reading, 'provider' | 'upstreamModel'> & { seal: NativeRequest['seal'] }

/** Items that wait for an output of the client. */
const clientCall =
  /^(?:function|custom_tool|tool_search|apply_patch|(?:local_)?shell|computer)_call$/
const encrypted = 'reasoning.encrypted_content'

/** The body of a request of this API. The vendor keeps nothing, and returns its reasoning encrypted. */
function writeNative({ body, seal }: NativeRequest, target: Target): WireRequest {
  const { upstreamModel: model } = target
  const include = new Set([...itemsOf(body['include']), encrypted])
  const input = itemsOf(body['input']).flatMap((item) =>
    opened(membersOf(item), { ...target, seal }),
  )
  // The contract has checked the request, whose members are those of the vendor.
  return { ...body, model, input, store: false, include: [...include] } as unknown as WireRequest
}

/** An item of the conversation. Reasoning is left out unless the model made it for the account. */
function opened(item: Members, { seal, provider, upstreamModel }: Sealing): Members[] {
  const { type, encrypted_content: content } = item
  if (type !== 'reasoning' && type !== 'compaction') return [item]
  const extra = seal.open(textIn(content) ?? '')
  if (type === 'compaction') {
    const { providerId, id, content: own } = compactionIn(extra) ?? {}
    if (providerId === null) return [{ type: 'message', role: 'user', content: own }]
    // The last one is readable, as the request was checked; earlier ones may be missing.
    return providerId === provider.id ? [{ type, id, encrypted_content: own }] : []
  }
  if (extra === undefined) return []
  const { thoughts } = thoughtsOfCall({ extra_content: extra }, upstreamModel)
  return thoughts.map((thought) => ({ ...item, ...thought }))
}

/** An output item as the caller gets it: the account can send its encrypted content back. */
function sealed(item: unknown, { seal, provider, upstreamModel }: Sealing): unknown {
  const members = membersOf(item)
  const { type } = members
  const found = type === 'reasoning' || type === 'compaction' ? encryptedIn(members) : undefined
  if (found === undefined) return item
  const { id, encrypted_content: content } = found
  const extra =
    type === 'compaction'
      ? { compaction: { providerId: provider.id, id, content } }
      : extraOf([found], upstreamModel)
  return { ...members, encrypted_content: seal.close(extra) }
}

/** A response of the vendor as the caller gets it. */
function nativeAnswer(response: Members, sealing: Sealing): NativeAnswer {
  return {
    service_tier: openAiTier(response['service_tier']),
    output: itemsOf(response['output']).map((item) => sealed(item, sealing)),
  }
}

/**
 * Texts in events about the response, about a whole item, and in errors. The text of an answer cannot match, since
 * its quotation marks are escaped.
 */
const marks = ['"response":', '"item":', '"error"'].map((text) => Buffer.from(text))

/** Reads the events of a response for a caller of this API (docs/behaviour.md#native-requests). */
function nativeReader(options: Omit<Reading, 'request'> & Sealing): NativeReader {
  const { errors } = options
  let identity = identityOf({}, options)
  let response: Members = {}
  let isOver = false
  const searches = searchCounter()
  const counted = () => searches.addTo(readUsage(response, options))
  return {
    marks,
    read: (data) => {
      const event = membersOf(parseEvent(data))
      switch (event['type']) {
        case 'response.created':
          identity = identityOf(membersOf(event['response']), options)
          return undefined
        case 'response.output_item.added':
        case 'response.output_item.done': {
          searches.read(event)
          const item = sealed(event['item'], options)
          return item === event['item'] ? data : JSON.stringify({ ...event, item })
        }
        case 'response.completed':
        case 'response.incomplete':
          response = membersOf(event['response'])
          isOver = true
          return undefined
        case 'response.failed':
          response = membersOf(event['response'])
          throw failureIn({ status: 'failed', ...response }, errors)
        case 'error':
          throw eventFailure({ error: event }, errors)
        case 'response.in_progress':
        case 'response.queued':
          return undefined
        default:
          return data
      }
    },
    finish: () => {
      if (!isOver) throw brokenOff()
      const hasCalls = itemsOf(response['output']).some((item) =>
        clientCall.test(String(membersOf(item)['type'])),
      )
      const finishReason = finishReasonOf(response, hasCalls)
      const answer = nativeAnswer(response, options)
      return { usage: counted(), identity, native: { answer, finishReason } }
    },
    usageSoFar: counted,
    isOver: () => isOver,
  }
}
