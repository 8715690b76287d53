import type { ChatStream, ChunkIdentity, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/money/price.ts'
import type { Turn } from '../../core/turn.ts'
import { checkJsonBounds } from '../transport/upstream.ts'
import { endOfEvent, fieldsOf, wholeEvents } from './event-source.ts'
import {
  openForwarded,
  toFailure,
  type StreamOpening,
  type StreamReader,
} from './forwarded-stream.ts'

/** Translates a vendor's events to the canonical form. */
export type Translator = {
  /** The chunks for the data of one event, as text; may be empty. Throws a ProviderFailure. */
  read(data: string): string
  /** Called at the end of the upstream's answer. Throws a ProviderFailure if it ended early. */
  finish(): StreamEnd
  usageSoFar(): Usage | undefined
  /** Whether the vendor marked the end; absent if the vendor only closes the connection. */
  isOver?(): boolean
}

/**
 * Opens a stream at a vendor whose events differ from OpenAI's; resolves at the first chunk.
 * Rejects with a ProviderFailure.
 */
export function openTranslated(
  opening: StreamOpening,
  turn: Turn,
  translator: () => Translator,
): Promise<ChatStream> {
  const { jsonBytesMax } = opening.endpoint.limits
  return openForwarded(opening, turn, () => translatingReader(translator(), jsonBytesMax))
}

/** Translates events. A failure is kept until the chunks of the same piece are delivered. */
export function translatingReader(translator: Translator, eventBytesMax: number): StreamReader {
  const { read, finish, usageSoFar, isOver = () => false } = translator
  let failure: ProviderFailure | undefined
  let isDone = false
  const ends = () => isDone || isOver()
  const translated = (events: Buffer): Buffer | undefined => {
    let chunks = ''
    for (let at = 0; at < events.length && failure === undefined && !ends();) {
      const end = endOfEvent(events, at)
      try {
        const { data } = fieldsOf(events.subarray(at, end))
        // Some proxies send OpenAI's end mark in every stream.
        if (data === '[DONE]') isDone = true
        else if (data !== '') chunks += read(data)
      } catch (thrown) {
        failure = toFailure(thrown)
      }
      at = end
    }
    return chunks === '' ? undefined : Buffer.from(chunks)
  }
  const events = wholeEvents(eventBytesMax, translated)
  return { ...events, failure: () => failure, isOver: ends, finish, usageSoFar }
}

/** Smaller events are not scanned, since they cannot block the event loop. */
const checkedCharactersMin = 2048

/** Parses the data of an event. Throws a ProviderFailure. */
export function parseEvent<T>(data: string): T {
  if (data.length >= checkedCharactersMin) checkJsonBounds(Buffer.from(data))
  try {
    return JSON.parse(data) as T
  } catch (cause) {
    throw new ProviderFailure('malformed', 'An event of the answer is not JSON.', { cause })
  }
}

/** The failure of a stream that ends without a finish reason. */
export function brokenOff(): ProviderFailure {
  return new ProviderFailure('unreachable', 'The provider ended the stream too early.')
}

/**
 * Writes chunks around JSON text, since JSON.stringify of each chunk would double the cost. The first chunk of a choice
 * has the role, as OpenAI sends it; chunks after its end are dropped, since clients would append their texts.
 */
export type ChunkWriter = ReturnType<typeof chunkWriter>

export function chunkWriter(identity: ChunkIdentity) {
  const members = JSON.stringify({ ...identity, object: 'chat.completion.chunk' }).slice(0, -1)
  const head = `data: ${members},"choices":[{"index":`
  const role = ',"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
  /** The choices that have begun, and whether they have ended. */
  const states = new Map<number, boolean>()
  const chunk = (choice: number, rest: string) => {
    const hasEnded = states.get(choice)
    if (hasEnded === true) return ''
    const begin = hasEnded === undefined ? `${head}${choice}${role}` : ''
    if (hasEnded === undefined) states.set(choice, false)
    return `${begin}${head}${choice},${rest}}]}\n\n`
  }
  return {
    hasBegun: (choice: number) => states.has(choice),
    hasEnded: (choice: number) => states.get(choice) === true,
    /** A chunk with `delta`, which is JSON. */
    delta: (choice: number, delta: string) =>
      chunk(choice, `"delta":${delta},"finish_reason":null`),
    /** A chunk with `logprobs`, which is JSON. */
    logprobs: (choice: number, logprobs: string) =>
      chunk(choice, `"delta":{},"logprobs":${logprobs},"finish_reason":null`),
    finish: (choice: number, reason: string) => {
      const end = chunk(choice, `"delta":{},"finish_reason":"${reason}"`)
      states.set(choice, true)
      return end
    },
  }
}

/** The delta of a tool call or of a piece of it. */
export function toolDelta(call: object): string {
  return `{"tool_calls":[${JSON.stringify(call)}]}`
}
