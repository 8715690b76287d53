import { noAllowance } from '../../src/accounts/allowance.ts'
import type { Allowance, Caller } from '../../src/core/caller.ts'

/** An owner without limits of its own. */
export function unlimited(ownerId: string): Allowance {
  const limits = {
    requestsPerMinute: null,
    tokensPerMinute: null,
    imagesPerMinute: null,
    concurrency: null,
  }
  return { ownerId, limits, budget: null }
}

/** A key of an account, which may call all models without limit. */
export function callerOf(options: Partial<Caller> = {}): Caller {
  const { accountId = 'acc_1', keyId = 'key_1' } = options
  return {
    accountId,
    keyId,
    mode: 'live',
    models: null,
    scopes: ['inference'],
    networks: null,
    allowances: [unlimited(accountId), unlimited(keyId)],
    isOperator: false,
    ...options,
  }
}

/** What a reservation says of its call. */
export const askedCall = { face: 'chat', modality: 'chat', model: 'm' } as const

/** The row of an account without limits of its own. */
export function accountRow(id: string, name = id) {
  return { id, name, created_at: 0, is_operator: 0, ...noAllowance }
}
