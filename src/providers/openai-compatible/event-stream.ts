import { joinPieces } from '../../bytes/pieces.ts'
import type { ChatAnswer, ChatCompletion, ChatStream } from '../../core/chat/chat.ts'
import type { ProviderFailure } from '../../core/failure.ts'
import type { StreamLimits } from '../transport/endpoint.ts'
import type { OpenAnswer } from '../transport/upstream.ts'
import { assertEvents, eventTooLarge } from '../wire/event-source.ts'
import { forwardedStream, toFailure, type StreamReader } from '../wire/forwarded-stream.ts'
import { eventLane, type Reading } from './event-lane.ts'

type Options = Reading & {
  limits: StreamLimits
  /** Reads a complete answer of an upstream that did not stream. Throws a ProviderFailure. */
  readWhole: (bytes: Buffer) => ChatAnswer
}

/**
 * The stream of an OpenAI-shaped upstream. Resolves at the first event with content. Rejects with a
 * ProviderFailure if the first event is an error or no event arrives.
 */
export function startStream(answer: OpenAnswer, options: Options): Promise<ChatStream> {
  const { limits } = options
  const beginning = answer.peek()?.subarray(0, sniffedBytes) ?? nothing
  if (!beginsEvent(beginning)) {
    if (isJson(beginning)) return forwardedStream(answer, limits, wholeAnswer(options))
    assertEvents(answer)
  }
  return forwardedStream(answer, limits, eventLane(options))
}

/** Whether a body begins like JSON; the media type is not reliable. */
function isJson(beginning: Buffer): boolean {
  return /^\s*[{[]/.test(beginning.toString())
}

/** Whether a body is an event stream, by its first bytes. */
export function beginsEvent(body: Buffer): boolean {
  return /^\uFEFF?\s*(?:data|event|id|retry)?:/.test(body.toString('utf8', 0, sniffedBytes))
}

/** The first bytes of an answer, which show its format. */
const sniffedBytes = 64

const nothing = Buffer.alloc(0)

/** Converts a complete answer to events. */
function wholeAnswer({ limits, readWhole }: Options): StreamReader {
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
        answer = readWhole(joinPieces(pieces))
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
