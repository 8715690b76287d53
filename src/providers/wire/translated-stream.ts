import type { ChatStream, ChunkIdentity, StreamEnd } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/price.ts'
import type { UpstreamLimits } from '../transport/endpoint.ts'
import type { OpenAnswer } from '../transport/upstream.ts'
import { pausingWriter, startEvents } from './event-source.ts'

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

/** A stream of a vendor who has other events than OpenAI; resolves at its first chunk. */
export async function translateStream(
  answer: OpenAnswer,
  { answerBytesMax, endTimeoutMs }: Pick<UpstreamLimits, 'answerBytesMax' | 'endTimeoutMs'>,
  { read, finish, usageSoFar, isOver = () => false }: Translator,
): Promise<ChatStream> {
  let failure: unknown
  const over = Promise.withResolvers<void>()
  const source = await startEvents(answer, answerBytesMax, (events) => {
    if (failure !== undefined || isOver()) return undefined
    let chunks = ''
    try {
      eachData(events.toString(), (data) => {
        chunks += read(data)
      })
    } catch (thrown) {
      // What came before it in the same piece is the caller's all the same.
      if (chunks === '') throw thrown
      failure = thrown
      if (thrown instanceof ProviderFailure) answer.abort(thrown)
    }
    if (isOver()) {
      // Some upstreams keep the connection open behind it.
      answer.endWithin(endTimeoutMs)
      over.resolve()
    }
    return chunks === '' ? undefined : Buffer.from(chunks)
  })
  return {
    usageSoFar,
    forward: async (sink) => {
      const writer = pausingWriter(answer, sink)
      source.listen(writer.write)
      if (!writer.paused()) answer.resume()
      await Promise.race([source.ended, over.promise])
      if (failure !== undefined) throw failure
      return finish()
    },
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

const carriageReturn = 0x0d
const space = 0x20

/** Hands over the data of each event in whole events' text; comments and names are passed over. */
function eachData(text: string, onData: (data: string) => void): void {
  let data: string | undefined
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at)
    const end = feed < 0 ? text.length : feed
    const stop = text.charCodeAt(end - 1) === carriageReturn ? end - 1 : end
    if (stop <= at) {
      if (data !== undefined) onData(data)
      data = undefined
    } else if (text.startsWith('data:', at)) {
      const line = text.slice(text.charCodeAt(at + 5) === space ? at + 6 : at + 5, stop)
      data = data === undefined ? line : `${data}\n${line}`
    }
    at = end + 1
  }
  if (data !== undefined) onData(data)
}
