import type { Call, Delivered } from './call.ts'
import type { RequestLimit } from './caller.ts'
import type { Warning } from './model.ts'
import type { Usage } from './price.ts'
import type { Remembered } from './recall/remembered.ts'
import type { Modality, Receipt } from './receipt.ts'
import type { Readiness, Route, Selection } from './route.ts'

/** What a modality plugs into the sequence of all calls (ARCHITECTURE.md, One sequence). */
export type Work<Made, Answer> = {
  modality: Modality
  /** The models that may answer, in order. */
  models: readonly string[]
  timeoutMs: number
  /** Adjustments made before the sequence began. */
  warnings: readonly Warning[]
  /** Whether a route can do it, as far as is known before the vendor's request is built. */
  check(route: Route): Readiness
  /** Fetches the inputs that are given as addresses, before the deadline. Throws a GatewayError. */
  read?(signal: AbortSignal): Promise<void>
  /** What the cache key covers; called after `read`. */
  canonical(): unknown
  /** Whether identical calls in flight share one upstream call. */
  isShared: boolean
  /** Tries the routes. Throws a ProviderFailure or GatewayError when all fail. */
  make(call: Call, selection: Selection): Promise<Made>
  /** Turns what was made into the answer; the call is recorded before the answer ends. */
  deliver(made: Made, delivery: Delivery): Promise<Answer>
  /** The same for a cached answer, whose call is recorded already. */
  replay(known: Remembered, receipt: Receipt, limit: RequestLimit): Answer
}

/** What `deliver` needs to know of the call. */
export type Delivery = {
  call: Call
  /** Adjustments that apply whichever route answers. */
  warnings: readonly Warning[]
  limit: RequestLimit
  /** Passes the answer to waiting identical calls and to the cache; absent when not wanted. */
  keep: ((answer: Remembered) => void) | undefined
}

/** The outcome of a call that is answered in one piece. */
export type Answered<Result> = {
  result: Result
  usage: Usage | undefined
  receipt: Receipt
  limit: RequestLimit
}

/** A complete result; `bytes` is roughly the memory it takes. */
export type Whole<Result> = Delivered & {
  result: Result
  bytes: number
  /** Adjustments of the route that answered. */
  warnings: readonly Warning[]
}

/** Records a complete answer, and caches it in the form that `pack` gives. */
export async function deliverWhole<Result>(
  made: Whole<Result>,
  { call, warnings, limit, keep }: Delivery,
  pack: (result: Result) => unknown,
): Promise<Answered<Result>> {
  const { result, usage, bytes } = made
  const receipt = await call.succeed(made, joined(warnings, made.warnings))
  if (keep !== undefined) {
    const { model, provider, warnings } = receipt
    // Deferred so that the answer is sent first; until then identical calls find it in flight.
    setImmediate(() =>
      keep({ modelId: model.row.id, provider, usage, warnings, bytes, result: pack(result) }),
    )
  }
  return { result, usage, receipt, limit }
}

/** Both lists of warnings in order; without a copy when the second is empty. */
export function joined(warnings: readonly Warning[], more: readonly Warning[]): readonly Warning[] {
  return more.length === 0 ? warnings : [...warnings, ...more]
}
