import type {
  ChatAdapter,
  ChatAnswer,
  ChatCompletion,
  ChatRequest,
  ChatStream,
  ChatTurn,
} from '../../core/chat/chat.ts'
import { estimateAnswer } from '../../core/chat/estimate.ts'
import { joinPieces } from '../../bytes/pieces.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'
import { countedFailure } from '../transport/answer-failure.ts'
import { jsonRequests, withKey, type UpstreamRequest } from '../transport/dispatch.ts'
import {
  open,
  parseJson,
  printedCopies,
  readRest,
  receive,
  wholeReader,
  type OpenAnswer,
} from '../transport/upstream.ts'
import { membersOf, type Members } from '../../core/any-json.ts'
import { inlineImages, needsInlining } from '../../core/chat/pictures.ts'
import type { StreamLimits } from '../transport/endpoint.ts'
import { assertEvents, eventTooLarge } from '../wire/event-source.ts'
import { forwardedStream, toFailure, type StreamReader } from '../wire/forwarded-stream.ts'
import { tokensMaxOf, withTier } from '../wire/token-count.ts'
import { assembledAnswer } from './assembled-answer.ts'
import { writeChat } from './chat-request.ts'
import { plainDialect, type OpenAiEndpoint } from './dialect.ts'
import { eventLane, type Reading } from './event-lane.ts'
import { bodyFailure, readFailure, type ErrorReading } from './failure.ts'
import { readMembers } from './members.ts'
import { repairAnswer } from './repair-answer.ts'
import { readUsage, usageIn } from './usage.ts'

const path = '/chat/completions'

/** Chat over `POST /chat/completions`. */
export function chatAdapter(endpoint: OpenAiEndpoint): ChatAdapter {
  const { dispatch, texts, limits, dialect = plainDialect } = endpoint
  const requestTo = jsonRequests(endpoint)
  const written = (body: object, { idempotencyKey }: ChatTurn): UpstreamRequest =>
    withKey(requestTo(path, body), dialect.idempotencyHeader, idempotencyKey)
  const bytesMax = limits.jsonBytesMax
  const reading: ErrorReading = { texts, failureKind: dialect.failureKind }
  return {
    prepare: (request, target) => {
      const { body, problems, warnings } = writeChat(request, target, dialect)
      const fetches = dialect.inlineImages === true && needsInlining(request)
      /** A promise only if pictures are fetched first. */
      const requestOf = (turn: ChatTurn): Promise<UpstreamRequest> | UpstreamRequest =>
        fetches
          ? inlineImages(request, endpoint.readSources, turn).then((inlined) =>
              written(writeChat(inlined, target, dialect).body, turn),
            )
          : written(body, turn)
      const readingFor = (created: number): Reading => {
        const fallback = { created, model: target.upstreamModel }
        const tokensMax = tokensMaxOf(target, request.n ?? 1)
        return { request, dialect, reading, fallback, tokensMax, eventBytesMax: bytesMax }
      }
      const ask = (sent: UpstreamRequest, turn: ChatTurn): Promise<ChatAnswer> => {
        const receiving = { dispatch, request: sent, bytesMax, copies: printedCopies }
        return receive(receiving, turn, (head) =>
          head.status === 200
            ? wholeReader((bytes) => readCompletion(bytes, readingFor(turn.createdSeconds)))
            : readFailure(head, reading),
        )
      }
      return {
        problems,
        warnings,
        complete: (turn) => {
          const sent = requestOf(turn)
          return sent instanceof Promise ? sent.then((one) => ask(one, turn)) : ask(sent, turn)
        },
        stream: async (turn) => {
          const answer = await open(endpoint, await requestOf(turn), turn)
          if (answer.head.status === 200) {
            return startStream(answer, limits, readingFor(turn.createdSeconds))
          }
          return readRest(answer, readFailure(answer.head, reading), limits.endTimeoutMs)
        },
      }
    },
  }
}

/** Reads an answer that should be one JSON object; some servers stream it, as its first bytes show. */
function readCompletion(bytes: Buffer, how: Reading): ChatAnswer {
  if (beginsEvent(bytes)) return readStreamed(bytes, how)
  const parsed = parseJson(bytes)
  try {
    return answerIn(parsed, bytes.length, how)
  } catch (error) {
    throw countedFailure(error, reportedUsage(membersOf(parsed), how))
  }
}

function answerIn(parsed: unknown, bytes: number, how: Reading): ChatAnswer {
  const { request, dialect, reading, fallback } = how
  const failure = bodyFailure(parsed, reading)
  if (failure !== undefined) throw failure
  const body = readMembers(parsed)
  const { choices } = body
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new ProviderFailure('malformed', 'The answer has no choices.')
  }
  const naming = { fallback, texts: reading.texts }
  const completion = repairAnswer(body, naming, dialect.finishReasons)
  const counted = reportedUsage(body, how) ?? estimateUsage(request, completion)
  const usage = withTier(counted, body['service_tier'], reading.texts)
  return { completion, usage, bytes }
}

function reportedUsage(body: Members, { dialect, tokensMax }: Reading): Usage | undefined {
  return readUsage(usageIn(body, dialect.usageMember), tokensMax, dialect.readCost)
}

function readStreamed(bytes: Buffer, how: Reading): ChatAnswer {
  const { request, reading, fallback } = how
  const naming = { fallback, texts: reading.texts }
  const lane = eventLane(how)
  try {
    const completion = repairAnswer(assembledAnswer(bytes, lane), naming)
    const usage = lane.usageSoFar() ?? estimateUsage(request, completion)
    return { completion, usage, bytes: bytes.length }
  } catch (error) {
    throw countedFailure(error, lane.usageSoFar())
  }
}

function estimateUsage(request: ChatRequest, { choices }: ChatCompletion): Usage {
  return estimateAnswer(
    request,
    choices.map(({ message }) => message),
  )
}

/**
 * The stream of an OpenAI-shaped upstream. Resolves at the first event with content. Rejects with a
 * ProviderFailure if the first event is an error or no event arrives.
 */
export function startStream(
  answer: OpenAnswer,
  limits: StreamLimits,
  how: Reading,
): Promise<ChatStream> {
  const beginning = answer.peek()?.subarray(0, sniffedBytes) ?? nothing
  if (!beginsEvent(beginning)) {
    if (isJson(beginning)) return forwardedStream(answer, limits, wholeAnswer(limits, how))
    assertEvents(answer)
  }
  return forwardedStream(answer, limits, eventLane(how))
}

/** Whether a body begins like JSON; the media type is not reliable. */
function isJson(beginning: Buffer): boolean {
  return /^\s*[{[]/.test(beginning.toString())
}

/** Whether a body is an event stream, by its first bytes. */
function beginsEvent(body: Buffer): boolean {
  return /^\uFEFF?\s*(?:data|event|id|retry)?:/.test(body.toString('utf8', 0, sniffedBytes))
}

/** The first bytes of an answer, which show its format. */
const sniffedBytes = 64

const nothing = Buffer.alloc(0)

function wholeAnswer(limits: StreamLimits, how: Reading): StreamReader {
  const pieces: Buffer[] = []
  let bytes = 0
  let answer: ChatAnswer | undefined
  let failure: ProviderFailure | undefined
  return {
    push: (piece) => {
      bytes += piece.length
      if (bytes > limits.jsonBytesMax) failure ??= eventTooLarge()
      if (failure === undefined) pieces.push(piece)
      return undefined
    },
    end: () => {
      if (failure !== undefined) return undefined
      try {
        answer = readCompletion(joinPieces(pieces), how)
        return answerEvents(answer.completion)
      } catch (thrown) {
        failure = toFailure(thrown)
        return undefined
      }
    },
    failure: () => failure,
    isOver: () => false,
    finish: () => {
      const { id, created, model } = answer!.completion
      return { usage: answer!.usage, identity: { id, created, model } }
    },
    usageSoFar: () => answer?.usage,
  }
}

/** Converts a complete answer to stream events, for an upstream that ignores `stream: true`. */
function answerEvents({ choices, object: _object, ...answer }: ChatCompletion): Buffer {
  const chunk = (choice: object) => {
    const whole = { ...answer, object: 'chat.completion.chunk', choices: [choice] }
    return `data: ${JSON.stringify(whole)}\n\n`
  }
  const events = choices.flatMap(({ index, message, logprobs, finish_reason: reason }) => {
    const { tool_calls: calls, refusal, ...said } = message
    const delta = {
      ...said,
      ...(refusal == null ? {} : { refusal }),
      ...(calls && { tool_calls: calls.map((call, place) => ({ index: place, ...call })) }),
    }
    return [
      chunk({ index, delta, logprobs, finish_reason: null }),
      chunk({ index, delta: {}, finish_reason: reason }),
    ]
  })
  return Buffer.from(events.join(''))
}
