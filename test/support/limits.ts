import { expect } from 'chai'
import type { Caller, UsageLimits } from '../../src/core/caller.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { Admission, Demand, LimitState, Used } from '../../src/core/limits.ts'
import { createCountsInMemory, type Counts } from '../../src/policy/counts.ts'
import { createRateLimit } from '../../src/policy/rate-limit.ts'
import { callerOf, unlimited } from './callers.ts'

const none = unlimited('').limits
/** What a call asks for. */
export const demandOf = (images = 0, tokens = 0): Demand => ({
  images,
  tokens: () => ({ certain: tokens, assumed: 0 }),
})
/** What a call has used that failed. */
export const nothing: Used = { inputTokens: 0, outputTokens: 0, images: 0 }

/** Limits that are counted somewhere; time passes when the test says so. */
export type TestLimits = {
  counts: Counts
  admit(caller: Caller, demand: Demand): Promise<Admission>
  look(caller: Caller): Promise<readonly LimitState[]>
  pass(ms: number): Promise<void> | void
  /** Where an account has no limits of its own. */
  settings: { limits: UsageLimits }
  /** What went wrong behind an answer. */
  faults: readonly unknown[]
  /** What is in memory for them. */
  size?(): number
  stop(): Promise<void> | void
}

/** How long a call of these tests may last: minutes pass in them at once. */
export const callTimeoutMs = 36_000_000

type LimitsInMemory = {
  /** At once: nobody else is asked. */
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
    admit: (caller, demand) => rateLimit.admit(caller, demand, callTimeoutMs),
    lookNow: (caller) => rateLimit.look(caller) as readonly LimitState[],
    look: async (caller) => rateLimit.look(caller),
    pass: (ms) => void (time.now += ms),
    size: counts.size,
    stop: () => undefined,
  }
}

/** A key of the one account, with these limits of both. */
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

/** The error of a call that is not let in. */
export async function refusal(admitted: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await admitted.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(GatewayError)
  return error as GatewayError
}
