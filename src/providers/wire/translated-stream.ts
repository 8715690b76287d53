import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import type { ChatStream, ChunkIdentity, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/price.ts'
import type { UpstreamLimits } from '../transport/endpoint.ts'
import type { OpenAnswer } from '../transport/upstream.ts'
import { assertEvents, eventTooLarge, isJson } from './event-source.ts'
import { forwardedStream, toFailure, type StreamReader } from './forwarded-stream.ts'

/** Puts a vendor's events, one after the other, in the canonical form. */
export type Translator = {
  /** The chunks that the data of one event make, as text; none is empty. Throws a ProviderFailure. */
  read(data: string): string
  /** At the end of the upstream's answer. Throws a ProviderFailure when it ended too early. */
  finish(): StreamEnd
  usageSoFar(): Usage | undefined
  /** Whether the vendor said that the answer ends here; absent where it only ends the connection. */
  isOver?(): boolean
}

/** A stream of a vendor that has other events than OpenAI; resolves at its first chunk. */
export async function translateStream(
  answer: OpenAnswer,
  limits: Pick<UpstreamLimits, 'answerBytesMax' | 'endTimeoutMs'>,
  translator: Translator,
): Promise<ChatStream> {
  assertEvents(answer)
  return forwardedStream(answer, limits, translatingReader(translator, limits.answerBytesMax))
}

/**
 * Reads events with eventsource-parser and gives their translation. A failure after chunks of the same
 * piece is kept, so that those chunks are delivered before it is reported.
 */
function translatingReader(translator: Translator, eventBytesMax: number): StreamReader {
  const { read, finish, usageSoFar, isOver = () => false } = translator
  const decoder = new StringDecoder('utf8')
  let chunks = ''
  let failure: ProviderFailure | undefined
  let isEnd = false
  const parser = createParser({
    maxBufferSize: eventBytesMax,
    onEvent: ({ data }) => {
      if (failure !== undefined || isOver()) return
      // A last event without its empty line is accepted when it is whole.
      if (isEnd && !isJson(data)) return
      try {
        chunks += read(data)
      } catch (thrown) {
        failure = toFailure(thrown)
      }
    },
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') failure ??= eventTooLarge()
    },
  })
  const feed = (text: string): Buffer | undefined => {
    if (failure !== undefined || isOver()) return undefined
    chunks = ''
    parser.feed(text)
    return chunks === '' ? undefined : Buffer.from(chunks)
  }
  return {
    push: (piece: Buffer) => feed(decoder.write(piece)),
    end: () => {
      isEnd = true
      return feed(`${decoder.end()}\n\n`)
    },
    failure: () => failure,
    isOver,
    finish,
    usageSoFar,
  }
}

/** Parses the data of an event. Throws a ProviderFailure. */
export function parseEvent<T>(data: string): T {
  try {
    return JSON.parse(data) as T
  } catch (cause) {
    throw new ProviderFailure('malformed', 'An event of the answer is not JSON.', { cause })
  }
}

/** A stream that ends before it has said why. */
export function brokenOff(): ProviderFailure {
  return new ProviderFailure('unreachable', 'The provider broke the stream off.')
}

/** Writes chunks around JSON that is ready: one JSON.stringify of a chunk costs as much as all of it. */
export type ChunkWriter = {
  /** `delta` is JSON. */
  delta(choice: number, delta: string): string
  /** `logprobs` is JSON. */
  logprobs(choice: number, logprobs: string): string
  finish(choice: number, reason: string): string
}

export function chunkWriter(identity: ChunkIdentity): ChunkWriter {
  const known = JSON.stringify({ ...identity, object: 'chat.completion.chunk' }).slice(0, -1)
  const head = `data: ${known},"choices":[{"index":`
  return {
    delta: (choice, delta) => `${head}${choice},"delta":${delta},"finish_reason":null}]}\n\n`,
    logprobs: (choice, logprobs) =>
      `${head}${choice},"delta":{},"logprobs":${logprobs},"finish_reason":null}]}\n\n`,
    finish: (choice, reason) => `${head}${choice},"delta":{},"finish_reason":"${reason}"}]}\n\n`,
  }
}

/** The first chunk of a choice, as OpenAI begins. */
export const roleDelta = '{"role":"assistant","content":""}'
