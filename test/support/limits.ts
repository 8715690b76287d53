import { expect } from 'chai'
import type { Caller, UsageLimits } from '../../src/core/caller.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { Demand, Used } from '../../src/core/limits.ts'
import { RateLimit } from '../../src/policy/rate-limit.ts'
import { callerOf, unlimited } from './callers.ts'

const none = unlimited('').limits
/** What a call asks for. */
export const demandOf = (images = 0, tokens = 0): Demand => ({
  images,
  tokens: () => ({ certain: tokens, assumed: 0 }),
})
/** What a call has used that failed. */
export const nothing: Used = { inputTokens: 0, outputTokens: 0, images: 0 }

/** Limits whose time passes when the test says so. */
export function limitsAt() {
  const time = { now: 0 }
  const settings = { limits: none }
  const faults: unknown[] = []
  const rateLimit = new RateLimit({
    defaults: () => settings.limits,
    monotonic: () => time.now,
    onFault: (fault) => void faults.push(fault),
  })
  return { rateLimit, time, settings, faults }
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
