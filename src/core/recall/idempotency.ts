import type { Hold } from '../../bytes/budget.ts'
import type { Caller } from '../caller.ts'
import type { GatewayError } from '../error.ts'
import { isOutcomeUnknown } from '../failure.ts'

/** A request that its caller may send again, by a key of their own (docs/behaviour.md#idempotency). */
export type KeyedRequest = {
  caller: Caller
  key: string
  /** What is asked for: an operation of the contract, or a tool. */
  operation: string
  /** Equal for equal requests. */
  fingerprint: string
  requestId: string
  hold: Hold
  allowRepeat: boolean
}

/** The end of an exchange as it is kept; `status` is null for what has none. */
export type KeptAnswer = {
  status: number | null
  headers: Readonly<Record<string, string>>
  body: readonly (string | Buffer)[]
}

/** The right to do what was asked under a key. One of the functions is to be called; none rejects. */
export type Claim = {
  /** An earlier process may have done it: it ended before it knew. */
  isRepeat: boolean
  /** What the keys for vendors are made from; says nothing of the caller's own. */
  vendorKey: string
  /** How large an answer may be that is kept. */
  bytesMax: number
  /** Keeps the answer for whoever asks again; resolves when it is durable. */
  keep(answer: KeptAnswer, isUnknown?: boolean): Promise<void>
  /** The answer is too large to be kept. */
  lose(): Promise<void>
  /** Nothing was done: the next request does it. */
  free(): Promise<void>
}

/** What a key stands for: work to do, or its answer, with the id of the request that made it. */
export type Claimed =
  { claim: Claim; kept?: never } | { claim?: never; kept: KeptAnswer & { requestId: string } }

/**
 * Takes a key. Throws `idempotency_key_in_use`, `idempotency_key_reused`, and `overloaded` when the
 * answer could not be kept.
 */
export type ClaimKey = (request: KeyedRequest) => Promise<Claimed>

/** What the work done under a claim is told of it. */
export function claimed({ isRepeat, vendorKey }: Claim): Pick<Claim, 'isRepeat' | 'vendorKey'> {
  return { isRepeat, vendorKey }
}

const mayChange: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 409, 429])

/**
 * Ends a claim whose work failed. What the same request would meet again is kept, as is an unknown
 * outcome; a refusal before any work and a failure that may pass are not.
 */
export async function failClaim(
  claim: Claim,
  error: GatewayError,
  answer: () => KeptAnswer,
): Promise<void> {
  const isUnknown = isOutcomeUnknown(error)
  const { status, progress } = error
  const wasTried = (progress.attempts ?? []).length > 0
  const isFinal = wasTried && status < 500 && !mayChange.has(status)
  await (isUnknown || isFinal ? claim.keep(answer(), isUnknown) : claim.free())
}
