import type { components } from '../../../generated/types.ts'
import type { Problem, Target, Warning } from '../model.ts'
import type { Usage } from '../price.ts'

type Schemas = components['schemas']

/** A conversation: OpenAI's request is the canonical form, since most upstreams speak it as it is. */
export type ChatRequest = Schemas['CreateChatCompletionRequest']
export type ReasoningEffort = Schemas['ReasoningEffort']
/** An answer before it is priced. */
export type ChatCompletion = Omit<Schemas['ChatCompletion'], 'usage' | 'warnings'>

/** What an adapter made of an upstream's answer; `bytes` is its size. */
export type ChatAnswer = { completion: ChatCompletion; usage: Usage; bytes: number }
/** A completion, and the same as JSON: the caller and the cache get it so, and it is printed once. */
export type ChatResult = { completion: ChatCompletion; text: string }

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
  /** What the upstream has counted so far, for a stream that does not reach its end. */
  usageSoFar?(): Usage | undefined
}

/** One try of one route. */
export type ChatTurn = {
  signal: AbortSignal
  /** Unix time, for upstreams that do not date their answers. */
  createdSeconds: number
}

/** A request as one route would be asked. */
export type PreparedChat = {
  /** Why the route cannot do it. */
  problems: readonly Problem[]
  /** What the route is asked otherwise than the caller did. */
  warnings: readonly Warning[]
  complete(turn: ChatTurn): Promise<ChatAnswer>
  /** Resolves when the first event has arrived, so that until then another route can be tried. */
  stream(turn: ChatTurn): Promise<ChatStream>
}

export type ChatAdapter = {
  /** Writes the request in the vendor's words; pure, so that twice gives the same twice. */
  prepare(request: ChatRequest, target: Target): PreparedChat
}
