import type {
  ChatAdapter,
  ChatAnswer,
  ChatCompletion,
  ChatRequest,
  ChatTurn,
  ChunkIdentity,
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
  type PieceReader,
} from '../transport/upstream.ts'
import { membersOf, type Members } from '../wire/any-json.ts'
import { inlineImages, needsInlining } from '../../core/chat/pictures.ts'
import { tokensMaxOf, type TokensMax, withTier } from '../wire/token-count.ts'
import { assembledAnswer } from './assembled-answer.ts'
import { writeChat } from './chat-request.ts'
import { plainDialect, type ChatDialect, type OpenAiEndpoint } from './dialect.ts'
import { eventLane } from './event-lane.ts'
import { beginsEvent, sniffedBytes, startStream } from './event-stream.ts'
import { bodyFailure, readFailure, type ErrorReading } from './failure.ts'
import { readMembers } from './members.ts'
import { repairAnswer } from './repair-answer.ts'
import { createChunkRepair } from './repair-chunk.ts'
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
            ? completionReader(readingFor(turn.createdSeconds))
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

type Reading = {
  request: ChatRequest
  dialect: ChatDialect
  reading: ErrorReading
  fallback: Omit<ChunkIdentity, 'id'>
  tokensMax: TokensMax
  eventBytesMax: number
}

/** Reads an answer that should be one JSON object; some servers stream it, as its first bytes show. */
function completionReader(how: Reading): PieceReader<ChatAnswer> {
  const whole = wholeReader((answer) => answer)
  let bytes = 0
  let streamed: PieceReader<ChatAnswer> | undefined
  return {
    push: (piece) => {
      const isBeginning = bytes < sniffedBytes
      bytes += piece.length
      if (streamed !== undefined) return streamed.push(piece)
      whole.push(piece)
      if (!isBeginning || bytes < sniffedBytes || !beginsEvent(whole.finish())) return
      streamed = streamedReader(how)
      streamed.push(whole.finish())
    },
    finish: () => streamed?.finish() ?? readCompletion(whole.finish(), how),
  }
}

function readCompletion(bytes: Buffer, how: Reading): ChatAnswer {
  if (beginsEvent(bytes)) {
    const streamed = streamedReader(how)
    streamed.push(bytes)
    return streamed.finish()
  }
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

function streamedReader(how: Reading): PieceReader<ChatAnswer> {
  const { request, dialect, reading, fallback, tokensMax, eventBytesMax } = how
  const naming = { fallback, texts: reading.texts }
  const repair = createChunkRepair(naming, request.tools, dialect.finishReasons)
  const lane = eventLane({ repair, dialect, reading, tokensMax, eventBytesMax })
  const assembled = assembledAnswer(lane)
  let bytes = 0
  const counted = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      throw countedFailure(error, lane.usageSoFar())
    }
  }
  return {
    push: (piece) => {
      bytes += piece.length
      counted(() => assembled.push(piece))
    },
    finish: () =>
      counted(() => {
        const completion = repairAnswer(assembled.finish(), naming)
        const usage = lane.usageSoFar() ?? estimateUsage(request, completion)
        return { completion, usage, bytes }
      }),
  }
}

function estimateUsage(request: ChatRequest, { choices }: ChatCompletion): Usage {
  return estimateAnswer(
    request,
    choices.map(({ message }) => message),
  )
}
