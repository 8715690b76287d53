import type { components } from '../../generated/types.ts'
import type { Problem } from './model.ts'
import type { Usage } from './price.ts'
import type { Route } from './route.ts'

type Schemas = components['schemas']

/** A conversation: OpenAI's request is the canonical form, since most upstreams speak it as it is. */
export type ChatRequest = Schemas['CreateChatCompletionRequest']
/** An answer before it is priced. */
export type ChatCompletion = Omit<Schemas['ChatCompletion'], 'usage' | 'warnings'>

export type ChatCall = { request: ChatRequest; route: Route; signal: AbortSignal }
export type ChatResult = { completion: ChatCompletion; usage: Usage; bytes: number }

/** Where a stream is written: `write` says whether more may follow at once, as a Node stream does. */
export type EventSink = {
  write(events: Buffer): boolean
  onDrain(listener: () => void): void
}
/** What names the chunks of a stream. */
export type ChunkIdentity = { id: string; created: number; model: string }
export type StreamEnd = { usage: Usage | undefined; identity: ChunkIdentity }

/** A stream whose first event has arrived. */
export type ChatStream = {
  /**
   * Writes whole `chat.completion.chunk` events, without the usage chunk and `[DONE]`, which are the
   * gateway's to add. Rejects with a ProviderFailure when the upstream breaks off.
   */
  forward(sink: EventSink): Promise<StreamEnd>
}

export type ChatAdapter = {
  problems(request: ChatRequest, route: Route): Problem[]
  complete(call: ChatCall): Promise<ChatResult>
  /** Resolves when the first event has arrived, so that until then another route can be tried. */
  stream(call: ChatCall): Promise<ChatStream>
}
