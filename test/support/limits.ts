import { expect } from 'chai'
import type { Caller, UsageLimits } from '../../src/core/caller.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { Admission, Demand, LimitState, Used } from '../../src/core/limits.ts'
import { createCountsInMemory, type Counts } from '../../src/policy/counts.ts'
import { createRateLimit } from '../../src/policy/rate-limit.ts'
import { callerOf, unlimited } from './callers.ts'

const none = unlimited('').limits
/** Images and tokens that a call counts against the limits. */
export const demandOf = (images = 0, tokens = 0): Demand => ({
  images,
  tokens: () => ({ certain: tokens, assumed: 0 }),
})
/** The usage of a failed call. */
export const nothing: Used = { inputTokens: 0, outputTokens: 0, images: 0 }

/** Limits with their counts, and a clock that the test sets. */
export type TestLimits = {
  counts: Counts
  admit(caller: Caller, demand: Demand): Promise<Admission>
  look(caller: Caller): Promise<readonly LimitState[]>
  pass(ms: number): Promise<void> | void
  /** Default limits of accounts. */
  settings: { limits: UsageLimits }
  /** Errors that occurred after the answer was sent. */
  faults: readonly unknown[]
  /** Number of counts in memory. */
  size?(): number
  stop(): Promise<void> | void
}

/** Maximum duration of a call in these tests, which advance the clock by minutes. */
export const callTimeoutMs = 36_000_000

type LimitsInMemory = {
  /** Returns the limits synchronously, because they are in the memory of this process. */
  lookNow(caller: Caller): readonly LimitState[]
  size(): number
}

/** Limits in the memory of one process. */
export function limitsInMemory(): TestLimits & LimitsInMemory {
  const time = { now: 0 }
  const settings = { limits: none }
  const monotonic = () => time.now
  const counts = createCountsInMemory(monotonic)
  const rateLimit = createRateLimit({ counts, defaults: () => settings.limits, monotonic })
  return {
    counts,
    settings,
    faults: [],
    admit: async (caller, demand) => rateLimit.admit(caller, demand, callTimeoutMs),
    lookNow: (caller) => rateLimit.look(caller) as readonly LimitState[],
    look: async (caller) => rateLimit.look(caller),
    pass: (ms) => void (time.now += ms),
    size: counts.size,
    stop: () => undefined,
  }
}

/** A key with its limits, and those of its account. */
export function callerWith(
  key: Partial<UsageLimits>,
  account: Partial<UsageLimits> = {},
  id = '1',
): Caller {
  return callerOf({
    keyId: `key_${id}`,
    allowances: [
      { ...unlimited('acc_1'), limits: { ...none, ...account } },
      { ...unlimited(`key_${id}`), limits: { ...none, ...key } },
    ],
  })
}

/** The error that refuses a call. Throws when the call is admitted. */
export async function refusal(admitted: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await admitted.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(GatewayError)
  return error as GatewayError
}
