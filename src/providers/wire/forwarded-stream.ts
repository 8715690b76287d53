import type { ChatStream, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'
import { countedFailure, tooLarge } from '../transport/answer-failure.ts'
import type { StreamLimits } from '../transport/endpoint.ts'
import type { OpenAnswer } from '../transport/upstream.ts'
import { pausingWriter, startEvents, type EventReader } from './event-source.ts'

/** Makes the canonical events of what a vendor sends. */
export type StreamReader = EventReader & {
  /** Why the stream ends here; what was made before it is delivered first. */
  failure(): ProviderFailure | undefined
  /** Whether the vendor said that the answer ends here. */
  isOver(): boolean
  /** At the end of a stream that did not fail. Throws a ProviderFailure when it ended too early. */
  finish(): StreamEnd
  usageSoFar(): Usage | undefined
}

/** The stream of an upstream's answer; resolves at its first event. Throws a ProviderFailure before it. */
export async function forwardedStream(
  answer: OpenAnswer,
  { endTimeoutMs, answerBytesMax }: StreamLimits,
  reader: StreamReader,
): Promise<ChatStream> {
  const over = Promise.withResolvers<void>()
  const read = (take: () => Buffer | undefined) => {
    const events = take()
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
      const events = read(() => reader.push(piece))
      if (reader.isOver() && !isEnding) {
        isEnding = true
        // Some upstreams keep the connection open after the end mark.
        answer.endWithin(endTimeoutMs)
        over.resolve()
      }
      return events
    },
    end: () => read(reader.end),
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

/** The vendor's counts in a stream without a chunk; of one that was cut off they may not be the last. */
function countedBefore(thrown: unknown, { usageSoFar }: StreamReader): Usage | undefined {
  const counted = orNone(usageSoFar)
  const isCut = thrown instanceof ProviderFailure && thrown.wasSent
  return counted && isCut ? { ...counted, estimated: true } : counted
}

/** What is known of a stream that broke off: its last counts may be what broke it. */
function orNone<T>(give: () => T): T | undefined {
  try {
    return give()
  } catch {
    return undefined
  }
}

/** What a reader threw: an event of an unexpected shape makes it fail in any way. */
export function toFailure(thrown: unknown): ProviderFailure {
  if (thrown instanceof ProviderFailure) return thrown
  const message = 'An event of the answer is not what the provider promises.'
  return new ProviderFailure('malformed', message, { cause: thrown })
}
