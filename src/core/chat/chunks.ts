import type { components } from '../../../generated/types.ts'
import type { ChatCompletion, EventSink } from './chat.ts'

type Schemas = components['schemas']
type Delta = Schemas['ChatChunkChoice']['delta']

/** A chunk of a vendor, in which every member is optional. */
export type ChatChunk = Partial<
  Pick<Schemas['ChatCompletionChunk'], 'id' | 'model' | 'service_tier'>
> & {
  choices?: ({ index?: number; delta?: Delta; finish_reason?: string | null } | null)[]
  /** In an event of another API: a piece of the answer. */
  delta?: unknown
}

/** The chunks of whole events; events that are not JSON are left out. */
export function chunksIn(events: Buffer): ChatChunk[] {
  const chunks: ChatChunk[] = []
  for (const line of events.toString().split('\n')) {
    const chunk = line.startsWith('data:') ? parseChunk(line.slice(5)) : undefined
    if (chunk !== undefined) chunks.push(chunk)
  }
  return chunks
}

function parseChunk(text: string): ChatChunk | undefined {
  try {
    // The events of a stream are `chat.completion.chunk` objects, or the end mark.
    return JSON.parse(text) as ChatChunk
  } catch {
    return undefined
  }
}

/** A sink for the canonical stream that writes the events of another API. */
export function translatingSink(
  sink: EventSink,
  translate: (chunk: ChatChunk) => string,
): EventSink {
  return {
    onDrain: sink.onDrain,
    write: (events) => {
      let text = ''
      for (const chunk of chunksIn(events)) text += translate(chunk)
      return text === '' || sink.write(Buffer.from(text))
    },
  }
}

/** A complete answer as one chunk, so that an API needs one translation for both. */
export function chunkOf({ id, model, choices }: ChatCompletion): ChatChunk {
  return {
    id,
    model,
    choices: choices.map(({ index, message: { tool_calls: calls = [], ...said }, ...rest }) => ({
      index,
      delta: { ...said, tool_calls: calls.map((call, at) => ({ index: at, ...call })) },
      finish_reason: rest.finish_reason,
    })),
  }
}
