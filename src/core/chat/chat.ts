import type { components } from '../../../generated/types.ts'
import type { CallInputs, Problem, Target, VendorFacts, Warning } from '../model.ts'
import type { Usage } from '../money/price.ts'
import type { Turn } from '../turn.ts'
import type { ThoughtSeal } from './sealed-thoughts.ts'

type Schemas = components['schemas']

/** The canonical chat request is OpenAI's, since most upstreams take it unchanged. */
export type ChatRequest = Schemas['CreateChatCompletionRequest']
export type ReasoningEffort = Schemas['ReasoningEffort']
export type FinishReason = Schemas['FinishReason']
/** An answer before it is priced. */
export type ChatCompletion = Omit<Schemas['ChatCompletion'], 'usage' | 'warnings'>

/** A request in the form of its API, for vendors that have the same API (ARCHITECTURE.md#one-conversation-many-apis). */
export type NativeRequest = {
  api: NonNullable<VendorFacts['nativeApi']>
  /** The members of the request that are in the contract. */
  body: Readonly<Record<string, unknown>>
  /** Headers of the caller for the vendor. */
  headers: Readonly<Record<string, string>>
  /** Reads and writes the vendor's data of the account. */
  seal: ThoughtSeal
  /** Warnings about members that a translation loses. */
  lost: readonly Warning[]
  /** Whether a verbatim request that the vendor refuses is translated and sent again. */
  isTranslatable: boolean
  /** Absent for a request that can be translated. */
  only?: OnlyNative | undefined
}
/**
 * Why a request cannot be translated. With `providerId` only this provider can read it, in its own API; without, each
 * that has its API.
 */
export type OnlyNative = { providerId?: string; problem: Problem }
/** A conversation for the core; `native` if the vendor of its model has the API of the caller. */
export type ChatInputs = CallInputs<ChatRequest> & {
  native?: Omit<NativeRequest, 'isTranslatable'> | undefined
}
/** The answer of a vendor in the form of its API. In a stream, the members of its last event. */
export type NativeAnswer = Readonly<Record<string, unknown>>

/** An upstream's answer in canonical form; `bytes` is the size of its body. */
export type ChatAnswer = {
  completion: ChatCompletion
  usage: Usage
  bytes: number
  /** The verbatim answer, if the request was sent verbatim. */
  native?: NativeAnswer
}
/** A completion and its JSON, which is serialized once for both the caller and the cache. */
export type ChatResult = { completion: ChatCompletion; text: string; native?: NativeAnswer }

/** Where a stream is written. `write` returns false for back-pressure, as in a Node stream. */
export type EventSink = {
  write(events: Buffer): boolean
  onDrain(listener: () => void): void
}
/** The members that all chunks of a stream have in common. */
export type ChunkIdentity = { id: string; created: number; model: string }
/** The end of a stream; `usage` is undefined if the upstream reported none. */
export type StreamEnd = {
  usage: Usage | undefined
  identity: ChunkIdentity
  native?: { answer: NativeAnswer; finishReason: string }
}

/** A stream whose first event has arrived. */
export type ChatStream = {
  /**
   * Writes whole `chat.completion.chunk` events, without the usage chunk and `[DONE]`, which the
   * gateway adds. Rejects with a ProviderFailure when the upstream breaks off. A native stream writes
   * the events of its API without the first and the last ones, which `StreamEnd` describes.
   */
  forward(sink: EventSink): Promise<StreamEnd>
  /** The usage that the upstream has reported so far, for a stream that breaks off. */
  usageSoFar?(): Usage | undefined
  /** Whether the events are those of the API of the request. */
  isNative?: true
}

/** A try, with the Unix time of its call for upstreams that do not date their answers. */
export type ChatTurn = Turn & { createdSeconds: number }

/** A request translated for one route. */
export type PreparedChat = {
  /** Reasons why the route cannot serve the request. */
  problems: readonly Problem[]
  /** Adjustments made in the translation. */
  warnings: readonly Warning[]
  /** Whether the request is sent verbatim, and translated only if the vendor refuses it. */
  isNative?: true
  /** Requests a complete answer. Throws a ProviderFailure. */
  complete(turn: ChatTurn): Promise<ChatAnswer>
  /** Starts a stream; resolves when the first event has arrived. Throws a ProviderFailure. */
  stream(turn: ChatTurn): Promise<ChatStream>
  /** Requests the vendor's count of the input tokens, which is free. Throws a ProviderFailure. */
  countInput?(turn: Turn): Promise<number>
}

export type ChatAdapter = {
  /** The vendor accepts pictures, documents and sounds in the results of tools. */
  takesResultMedia?: true
  /** Translates the request into the vendor's form. Pure: equal arguments, equal result. */
  prepare(request: ChatRequest, target: Target, native?: NativeRequest): PreparedChat
}
