import type { Call, Delivered } from './call.ts'
import type { RequestLimit } from './caller.ts'
import type { Warning } from './model.ts'
import type { Usage } from './price.ts'
import type { Remembered } from './recall/remembered.ts'
import type { Modality, Receipt } from './receipt.ts'
import type { Readiness, Route, Selection } from './route.ts'

/** What a modality, and its way to deliver an answer, bring to the one sequence. */
export type Work<Made, Answer> = {
  modality: Modality
  /** The models that may answer, in order. */
  models: readonly string[]
  timeoutMs: number
  /** What was not done as asked before the sequence began. */
  warnings: readonly Warning[]
  /** Whether a route can do it, as far as that is known before its vendor's wire is printed. */
  check(route: Route): Readiness
  /** Reads what the request only names, within the call's deadline. Throws a GatewayError. */
  read?(signal: AbortSignal): Promise<void>
  /** What the cache's key covers; called once everything is read. */
  canonical(): unknown
  /** Whether identical calls at the same time share this one. */
  isShared: boolean
  /** Tries the routes. Throws a ProviderFailure or GatewayError when none makes it. */
  make(call: Call, selection: Selection): Promise<Made>
  /** Hands over what was made; the call is recorded before the answer ends. */
  deliver(made: Made, delivery: Delivery): Promise<Answer>
  /** The same for a remembered answer, which is recorded already. */
  replay(known: Remembered, receipt: Receipt, limit: RequestLimit): Answer
}

export type Delivery = {
  call: Call
  /** What is not done as asked, whichever route answers. */
  warnings: readonly Warning[]
  limit: RequestLimit
  /** Keeps an answer for identical calls; absent when none is to be kept. */
  keep: ((answer: Remembered) => void) | undefined
}

/** What came of a call that is answered in one piece. */
export type Answered<Result> = {
  result: Result
  usage: Usage | undefined
  receipt: Receipt
  limit: RequestLimit
}

/** `bytes` is about how much memory the result takes. */
export type Whole<Result> = Delivered & {
  result: Result
  bytes: number
  /** What only the route that answered does otherwise than asked. */
  warnings: readonly Warning[]
}

/** Records an answer that is there as a whole, and keeps it as `pack` makes it. */
export async function deliverWhole<Result>(
  made: Whole<Result>,
  { call, warnings, limit, keep }: Delivery,
  pack: (result: Result) => unknown,
): Promise<Answered<Result>> {
  const { result, usage, bytes } = made
  const receipt = await call.succeed(made, joined(warnings, made.warnings))
  if (keep !== undefined) {
    const { model, provider, warnings } = receipt
    // The answer goes out before; identical calls find it under way until then.
    setImmediate(() =>
      keep({ modelId: model.row.id, provider, usage, warnings, bytes, result: pack(result) }),
    )
  }
  return { result, usage, receipt, limit }
}

/** Warnings of the call, then those of the route; without a copy where there is nothing to add. */
export function joined(warnings: readonly Warning[], more: readonly Warning[]): readonly Warning[] {
  return more.length === 0 ? warnings : [...warnings, ...more]
}
