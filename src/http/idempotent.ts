import { createHash, hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { OperationId, OperationIdOf } from '../../generated/operations.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Pieces } from '../bytes/pieces.ts'
import { copyEvents } from '../core/chat/stream.ts'
import { toGatewayError, type GatewayError } from '../core/error.ts'
import type { ExtractedTexts } from '../core/image/image.ts'
import { canonicalText } from '../core/repeats/cache-key.ts'
import {
  failClaim,
  type Claim,
  type Claimed,
  type ClaimKey,
  type StoredAnswer,
} from '../core/repeats/idempotency.ts'
import type { Answer } from './answer.ts'
import { errorAnswerOf } from './error-answer.ts'
import { contextOf, type Operation, type OperationCall } from './operation.ts'

/** The request header of an idempotency key, in lower case. */
export const keyHeader = 'idempotency-key'
/** The response header of a replayed answer. */
const replayedHeader = 'idempotent-replayed'

/** Answers a request that has an idempotency key. */
type AnswerOnce = (
  call: OperationCall<OperationIdOf<'caller'>>,
  handle: Operation<OperationIdOf<'caller'>>,
  answerInUse?: AnswerInUse,
) => Promise<Answer>

/** Answers a request whose key is in use; `error` says so. Rethrows it if there is no other answer. */
export type AnswerInUse = (
  error: unknown,
  call: Pick<OperationCall<'createImage'>, 'caller' | 'options'>,
) => Promise<Answer>

/**
 * Executes one of the requests with the same idempotency key, and replays its answer to the others
 * (docs/behaviour.md#idempotency).
 */
export function answerOncePerKey(operation: OperationId, claimKey: ClaimKey): AnswerOnce {
  const formatError = errorAnswerOf(operation)
  return async (call, handle, answerInUse) => {
    // Node joins repeated headers; the contract check has refused a joined key.
    const key = String(call.request.headers[keyHeader])
    const { strict, fallback, allowRepeat, caller, requestId, memory } = contextOf(call, 'chat')
    const { body: request, texts } = call
    const fingerprint = await fingerprintOf({ request, texts, strict, fallback })
    const keyed = { caller, key, operation, fingerprint, requestId, memory, allowRepeat }
    const claimed = await claimKey(keyed).catch((error: unknown) => {
      if (answerInUse === undefined) throw error
      return answerInUse(error, call)
    })
    if ('status' in claimed) return claimed
    const { claim, stored } = claimed
    if (claim === undefined) return replayed(stored)
    const format = (error: GatewayError) => formatError(error, { requestId })
    const answer = await attempt(claim, format, () => handle({ ...call, claim }))
    if (answer.events !== undefined) return storedStream(answer, claim, memory)
    const { json, pieces = [] } = answer
    const whole = typeof json === 'object' ? JSON.stringify(json) : json
    await claim.store(storedOf(answer, whole === undefined ? pieces : [whole]))
    return whole === undefined ? answer : { ...answer, json: whole }
  }
}

/** Releases the claim if the work fails. */
async function attempt(
  claim: Claim,
  format: (error: GatewayError) => Answer,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (thrown) {
    const error = toGatewayError(thrown)
    await failClaim(claim, error, () => {
      const answer = format(error)
      return storedOf(answer, [JSON.stringify(answer.json)])
    })
    throw thrown
  }
}

/** Headers that are not replayed, since they describe the moment of the answer. */
const momentary = /^(x-ratelimit-|ratelimit)/

function storedOf({ status, headers = {} }: Answer, body: StoredAnswer['body']): StoredAnswer {
  const lasting = Object.entries(headers).filter(([name]) => !momentary.test(name))
  return { status, headers: Object.fromEntries(lasting), body }
}

const eventsType = 'text/event-stream'

function replayed({ status, headers, body, requestId }: NonNullable<Claimed['stored']>): Answer {
  const replayHeaders = {
    'content-type': 'application/json',
    ...headers,
    // The id of the original request, by which its ledger row is found.
    'x-request-id': requestId,
    [replayedHeader]: 'true',
  }
  // Answers of HTTP operations are stored with a status.
  const answer = { status: status!, headers: replayHeaders }
  if (headers['content-type'] !== eventsType) return { ...answer, pieces: body }
  return {
    ...answer,
    events: async (sink) => {
      for (const piece of body) sink.write(Buffer.from(piece))
      return undefined
    },
  }
}

/** A stream that continues after its client disconnects, and is stored if it is complete. */
function storedStream(answer: Answer, claim: Claim, memory: MemoryHold): Answer {
  const headers = { ...answer.headers, 'content-type': eventsType }
  return {
    ...answer,
    events: async (sink, isLate) => {
      const limits = { cacheBytesMax: claim.bytesMax, estimateBytesMax: 0, memory }
      const copy = copyEvents(sink, limits)
      try {
        const last = await answer.events!(copy.sink, isLate)
        if (!copy.complete()) await claim.lose()
        else await claim.store(storedOf({ ...answer, headers }, [copy.events(), last ?? '']))
        return last
      } catch (error) {
        await claim.free()
        throw error
      }
    },
  }
}

/** The parts that identify a request; `texts` resolves the tickets that replace its pictures. */
type Fingerprinted = {
  request: unknown
  texts: ExtractedTexts
  strict: boolean
  fallback: boolean
}

/**
 * A digest that equal requests share in all processes, regardless of member order, form boundary
 * and tickets. Throws a GatewayError.
 */
export async function fingerprintOf(fingerprinted: Fingerprinted): Promise<string> {
  const { texts, ...content } = fingerprinted
  let text = canonicalText(content)
  for (const [ticket, pieces] of texts) text = text.replaceAll(ticket, await digestOf(pieces))
  return hash('sha256', text, 'base64url')
}

const hashedBytesMax = 4 * 1024 * 1024

/** Yields to the event loop after every few megabytes. */
async function digestOf(pieces: Pieces): Promise<string> {
  const digest = createHash('sha256')
  let bytes = 0
  for (const piece of pieces) {
    digest.update(piece)
    bytes += piece.length
    if (bytes < hashedBytesMax) continue
    bytes = 0
    await turn()
  }
  return digest.digest('base64url')
}
