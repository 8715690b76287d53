import type { ChatStream, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'
import type { Turn } from '../../core/turn.ts'
import { countedFailure, tooLarge } from '../transport/answer-failure.ts'
import type { UpstreamRequest } from '../transport/dispatch.ts'
import type { Endpoint, StreamLimits } from '../transport/endpoint.ts'
import {
  open,
  readRest,
  type OpenAnswer,
  type PieceReader,
  type UpstreamHead,
} from '../transport/upstream.ts'
import { assertEvents, pausingWriter, startEvents, type EventReader } from './event-source.ts'

/** Converts the bytes of a vendor's stream to canonical events. */
export type StreamReader = EventReader & {
  /** The failure that ends the stream; earlier events are delivered first. */
  failure(): ProviderFailure | undefined
  /** Whether the vendor marked the end of the answer. */
  isOver(): boolean
  /** Called when a stream ends without a failure. Throws a ProviderFailure if that is early. */
  finish(): StreamEnd
  usageSoFar(): Usage | undefined
}

export type StreamOpening = {
  endpoint: Pick<Endpoint, 'dispatch' | 'coalescing' | 'limits'>
  request: UpstreamRequest
  /** Reads an error answer; throws a ProviderFailure. */
  readFailure: (head: UpstreamHead) => PieceReader<never>
}

/** Sends a request and forwards its events; resolves at the first one. Rejects with a ProviderFailure. */
export async function openForwarded(
  { endpoint, request, readFailure }: StreamOpening,
  turn: Turn,
  reader: () => StreamReader,
): Promise<ChatStream> {
  const answer = await open(endpoint, request, turn)
  if (answer.head.status !== 200) {
    return readRest(answer, readFailure(answer.head), endpoint.limits.endTimeoutMs)
  }
  assertEvents(answer)
  return forwardedStream(answer, endpoint.limits, reader())
}

/**
 * The stream of an upstream's answer; resolves at its first event. Rejects with a ProviderFailure.
 */
export async function forwardedStream(
  answer: OpenAnswer,
  { endTimeoutMs, answerBytesMax }: StreamLimits,
  reader: StreamReader,
): Promise<ChatStream> {
  const over = Promise.withResolvers<void>()
  const read = (events: Buffer | undefined) => {
    const failure = reader.failure()
    if (failure !== undefined) {
      answer.abort(failure)
      if (events === undefined) throw failure
    }
    return events
  }
  let bytes = 0
  let isEnding = false
  const source = await startEvents(answer, {
    push: (piece) => {
      bytes += piece.length
      if (bytes > answerBytesMax) throw tooLarge()
      const events = read(reader.push(piece))
      if (reader.isOver() && !isEnding) {
        isEnding = true
        // Some upstreams keep the connection open after the end mark.
        answer.endWithin(endTimeoutMs)
        over.resolve()
      }
      return events
    },
    end: () => read(reader.end()),
  }).catch((thrown: unknown) => {
    throw countedFailure(thrown, countedBefore(thrown, reader))
  })
  return {
    usageSoFar: () => orNone(reader.usageSoFar),
    forward: async (sink) => {
      const writer = pausingWriter(answer, sink)
      source.listen(writer.write)
      if (!writer.paused()) answer.resume()
      await Promise.race([source.ended, over.promise])
      const failure = reader.failure()
      if (failure !== undefined) throw failure
      try {
        return reader.finish()
      } catch (thrown) {
        throw toFailure(thrown)
      }
    },
  }
}

/** The vendor's token counts in a stream that failed before its first chunk; an estimate if cut off. */
function countedBefore(thrown: unknown, { usageSoFar }: StreamReader): Usage | undefined {
  const counted = orNone(usageSoFar)
  const isCut = thrown instanceof ProviderFailure && thrown.wasSent
  return counted && isCut ? { ...counted, estimated: true } : counted
}

/** The result, or undefined if reading throws: counts of a broken stream may be malformed. */
function orNone<T>(give: () => T): T | undefined {
  try {
    return give()
  } catch {
    return undefined
  }
}

/** Converts any error of a reader: events of an unexpected shape cause various errors. */
export function toFailure(thrown: unknown): ProviderFailure {
  if (thrown instanceof ProviderFailure) return thrown
  const message = 'An event of the answer has an unexpected form.'
  return new ProviderFailure('malformed', message, { cause: thrown })
}
