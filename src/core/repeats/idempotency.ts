import type { MemoryHold } from '../../bytes/memory-budget.ts'
import type { Caller } from '../caller.ts'
import type { GatewayError } from '../error.ts'
import { isOutcomeUnknown } from '../failure.ts'

/** A request with an idempotency key (docs/behaviour.md#idempotency). */
export type KeyedRequest = {
  caller: Caller
  key: string
  /** The operation of the contract, or the tool. */
  operation: string
  /** Equal for equal requests. */
  fingerprint: string
  requestId: string
  memory: MemoryHold
  allowRepeat: boolean
}

/** A stored response; `status` is null for the result of a tool. */
export type StoredAnswer = {
  status: number | null
  headers: Readonly<Record<string, string>>
  body: readonly (string | Buffer)[]
}

/** The exclusive right to execute a request with a key. One of the functions must be called; none rejects. */
export type Claim = {
  /** An earlier process began the request and ended before its outcome was known. */
  isRepeat: boolean
  /** The id of that request. */
  earlierId?: string | undefined
  /** The prefix of idempotency keys for vendors; does not reveal the caller's key. */
  vendorKey: string
  bytesMax: number
  /** Stores the answer for repeated requests; resolves when it is durable. */
  store(answer: StoredAnswer, isUnknown?: boolean): Promise<void>
  /** Records that the answer is too large to be stored. */
  lose(): Promise<void>
  /** Nothing was executed: releases the key for the next request. */
  free(): Promise<void>
}

/** Why a key is refused: the request with this id is still being answered. */
export class KeyInUse extends Error {
  readonly requestId: string

  constructor(requestId: string) {
    super('The request is still being answered.')
    this.requestId = requestId
  }
}

/** The state of a key: a claim to execute, or the stored answer with the id of its request. */
export type Claimed =
  | { claim: Claim; stored?: never }
  | { claim?: never; stored: StoredAnswer & { requestId: string } }

/**
 * Claims a key. Throws `idempotency_key_in_use`, `idempotency_key_reused`, and `overloaded` when the
 * answer could not be stored.
 */
export type ClaimKey = (request: KeyedRequest) => Promise<Claimed>

const mayChange: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 409, 429])

/**
 * Ends a claim whose request failed. Permanent errors and unknown outcomes are stored; refusals before any
 * work and temporary failures are not stored.
 */
export async function failClaim(
  claim: Claim,
  error: GatewayError,
  answer: () => StoredAnswer,
): Promise<void> {
  const isUnknown = isOutcomeUnknown(error)
  const { status, progress } = error
  const wasTried = (progress.attempts ?? []).length > 0
  const isFinal = wasTried && status < 500 && !mayChange.has(status)
  await (isUnknown || isFinal ? claim.store(answer(), isUnknown) : claim.free())
}
