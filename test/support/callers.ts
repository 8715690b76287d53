import { noAllowance } from '../../src/accounts/allowance.ts'
import type { Allowance, Caller } from '../../src/core/caller.ts'

/** An allowance without limits and budget. */
export function unlimited(ownerId: string): Allowance {
  const limits = {
    requestsPerMinute: null,
    tokensPerMinute: null,
    imagesPerMinute: null,
    concurrency: null,
  }
  return { ownerId, limits, budget: null }
}

/** A caller with a key that may call all models without limits. */
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

/** The call that tests reserve a budget for. */
const { signal } = new AbortController()
export const askedCall = { face: 'chat', modality: 'chat', model: 'm', signal } as const

/** An account row without limits and budget. */
export function accountRow(id: string, name = id) {
  return { id, name, created_at: 0, is_operator: 0, keeps_prompts: 0, ...noAllowance }
}
