import type { components } from '../../../generated/types.ts'
import type { Hold } from '../../bytes/budget.ts'
import type { Problem, Target, Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import type { TraceHeaders } from '../trace.ts'

type Schemas = components['schemas']

/** The canonical chat request is OpenAI's, since most upstreams take it unchanged. */
export type ChatRequest = Schemas['CreateChatCompletionRequest']
export type ReasoningEffort = Schemas['ReasoningEffort']
/** An answer before it is priced. */
export type ChatCompletion = Omit<Schemas['ChatCompletion'], 'usage' | 'warnings'>

/** An upstream's answer in canonical form; `bytes` is the size of its body. */
export type ChatAnswer = { completion: ChatCompletion; usage: Usage; bytes: number }
/** A completion and its JSON, which is serialized once for both the caller and the cache. */
export type ChatResult = { completion: ChatCompletion; text: string }

/** Where a stream is written. `write` is false for back-pressure, as in a Node stream. */
export type EventSink = {
  write(events: Buffer): boolean
  onDrain(listener: () => void): void
}
/** The members that all chunks of a stream have in common. */
export type ChunkIdentity = { id: string; created: number; model: string }
/** Known after the last event; `usage` only if the upstream reported it. */
export type StreamEnd = { usage: Usage | undefined; identity: ChunkIdentity }

/** A stream whose first event has arrived. */
export type ChatStream = {
  /**
   * Writes whole `chat.completion.chunk` events, without the usage chunk and `[DONE]`, which the
   * gateway adds. Rejects with a ProviderFailure when the upstream breaks off.
   */
  forward(sink: EventSink): Promise<StreamEnd>
  /** The usage that the upstream has reported so far, for a stream that breaks off. */
  usageSoFar?(): Usage | undefined
}

/** One try of one route. */
export type ChatTurn = {
  signal: AbortSignal
  /** What the call holds of the memory. */
  hold: Hold
  /** Unix time, for upstreams that do not date their answers. */
  createdSeconds: number
  /** Of this try, for vendors that take one. */
  idempotencyKey: string | undefined
  /** What names this try in a trace to its vendor. */
  traceHeaders: TraceHeaders | undefined
}

/** A request translated for one route. */
export type PreparedChat = {
  /** Why the route cannot do it. */
  problems: readonly Problem[]
  /** What was adjusted for the route. */
  warnings: readonly Warning[]
  /** Throws a ProviderFailure, and so does `stream`. */
  complete(turn: ChatTurn): Promise<ChatAnswer>
  /** Resolves when the first event has arrived, so that until then another route can be tried. */
  stream(turn: ChatTurn): Promise<ChatStream>
}

export type ChatAdapter = {
  /** Translates the request into the vendor's form. Pure: equal arguments, equal result. */
  prepare(request: ChatRequest, target: Target): PreparedChat
}
