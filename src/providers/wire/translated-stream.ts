import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import type { ChatStream, ChunkIdentity, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/price.ts'
import type { UpstreamLimits } from '../transport/endpoint.ts'
import type { OpenAnswer } from '../transport/upstream.ts'
import { eventTooLarge, isJson, pausingWriter, startEvents } from './event-source.ts'

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
  { answerBytesMax, endTimeoutMs }: Pick<UpstreamLimits, 'answerBytesMax' | 'endTimeoutMs'>,
  translator: Translator,
): Promise<ChatStream> {
  const over = Promise.withResolvers<void>()
  const reader = translatingReader(translator, answerBytesMax)
  const source = await startEvents(answer, {
    push: (piece) => {
      const chunks = reader.push(piece)
      const failure = reader.failure()
      if (failure !== undefined) answer.abort(failure)
      if (translator.isOver?.() === true) {
        // Some upstreams keep the connection open after the end mark.
        answer.endWithin(endTimeoutMs)
        over.resolve()
      }
      return chunks
    },
    end: reader.end,
  })
  return {
    usageSoFar: translator.usageSoFar,
    forward: async (sink) => {
      const writer = pausingWriter(answer, sink)
      source.listen(writer.write)
      if (!writer.paused()) answer.resume()
      await Promise.race([source.ended, over.promise])
      const failure = reader.failure()
      if (failure !== undefined) throw failure
      return translator.finish()
    },
  }
}

/**
 * Reads events with eventsource-parser and gives their translation. A failure after chunks of the same
 * piece is kept, so that those chunks are delivered before it is reported.
 */
function translatingReader({ read, isOver = () => false }: Translator, eventBytesMax: number) {
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
    if (chunks === '' && failure !== undefined) throw failure
    return chunks === '' ? undefined : Buffer.from(chunks)
  }
  return {
    push: (piece: Buffer) => feed(decoder.write(piece)),
    end: () => {
      isEnd = true
      return feed(`${decoder.end()}\n\n`)
    },
    failure: () => failure,
  }
}

/** A vendor's event of an unexpected shape makes its translator fail in any way. */
function toFailure(thrown: unknown): ProviderFailure {
  if (thrown instanceof ProviderFailure) return thrown
  const message = 'An event of the answer is not what the provider promises.'
  return new ProviderFailure('malformed', message, { cause: thrown })
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
