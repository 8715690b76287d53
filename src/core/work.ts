import type { Call, Delivered } from './call.ts'
import type { ChatStream } from './chat/chat.ts'
import type { Warning } from './model.ts'
import type { Modality } from './receipt.ts'
import type { Route } from './route.ts'

/** What a modality brings to the one sequence. */
export type Work<Result> = {
  modality: Modality
  /** The models that may answer, in order. */
  models: readonly string[]
  /** What the cache's key covers. */
  canonical: () => unknown
  timeoutMs: number
  /** Sets aside the routes that cannot do it. Throws a GatewayError when none is left. */
  prepare(routes: readonly Route[], strict: boolean): Prepared<Result>
  /** A result as the cache keeps it, and back: small on the heap, since there may be many. */
  pack(result: Result): unknown
  unpack(packed: unknown): Result
}
export type Prepared<Result> = {
  routes: Route[]
  warnings: Warning[]
  run(call: Call, routes: readonly Route[]): Promise<Ran<Result>>
  /** Begins to answer piece by piece; only where a modality can. */
  stream?(call: Call, routes: readonly Route[]): Promise<Streaming>
}
/** `bytes` is about how much memory the result takes. */
export type Ran<Result> = Delivered & {
  result: Result
  bytes: number
  /** What only the route that answered does otherwise than asked. */
  warnings?: readonly Warning[]
}
export type Streaming = { stream: ChatStream; route: Route; warnings: readonly Warning[] }
