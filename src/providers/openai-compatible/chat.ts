import type {
  ChatAdapter,
  ChatAnswer,
  ChatCompletion,
  ChatRequest,
  ChatTurn,
} from '../../core/chat/chat.ts'
import { estimateAnswer } from '../../core/chat/estimate.ts'
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
} from '../transport/upstream.ts'
import { membersOf, type Members } from '../../core/any-json.ts'
import { inlineImages, needsInlining } from '../../core/chat/pictures.ts'
import { tokensMaxOf, withTier } from '../wire/token-count.ts'
import { assembledAnswer } from './assembled-answer.ts'
import { writeChat } from './chat-request.ts'
import { plainDialect, type OpenAiEndpoint } from './dialect.ts'
import { eventLane, type Reading } from './event-lane.ts'
import { beginsEvent, startStream } from './event-stream.ts'
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
            const how = readingFor(turn.createdSeconds)
            const readWhole = (bytes: Buffer) => readCompletion(bytes, how)
            return startStream(answer, { ...how, limits, readWhole })
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
