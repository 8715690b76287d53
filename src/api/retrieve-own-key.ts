import type { components } from '../../generated/types.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import type { LimitState } from '../core/limits.ts'
import type { Operation } from '../http/operation.ts'
import { limitsForm } from '../core/allowance-form.ts'

type Schemas = components['schemas']
type BudgetState = Schemas['BudgetState'] | null

/** The limits of a caller as they stand. */
export type LookAtLimits = (
  caller: Caller,
) => readonly LimitState[] | Promise<readonly LimitState[]>

/** What has become of the budgets of a caller's account and key; null where there is none. */
export type BudgetsOf = (caller: Caller) => Promise<[account: BudgetState, key: BudgetState]>

/** GET /api/key */
export function retrieveOwnKey(
  lookAtLimits: LookAtLimits,
  budgetsOf: BudgetsOf,
): Operation<'retrieveOwnKey'> {
  return async ({ caller }) => {
    const { keyId, accountId, mode, scopes, models, allowances } = caller
    const [account, key] = allowances
    const [ofAccount, ofKey] = await budgetsOf(caller)
    const states = await lookAtLimits(caller)
    const json: Schemas['OwnKey'] = {
      id: keyId,
      object: 'api_key',
      account_id: accountId,
      mode,
      scopes: [...scopes],
      models: models === null ? null : [...models],
      ...told(key, states, 'key'),
      budget: ofKey,
      account: { ...told(account, states, 'account'), budget: ofAccount },
    }
    return { status: 200, json }
  }
}

function told({ limits }: Allowance, states: readonly LimitState[], whose: LimitState['owner']) {
  const own = states.filter(({ owner }) => owner === whose)
  return { limits: limitsForm(limits), rate_limits: own.map(stateText) }
}

function stateText({ kind, limit, remaining, window }: LimitState): Schemas['RateLimitState'] {
  return {
    kind,
    limit,
    remaining,
    window_seconds: window?.seconds ?? null,
    reset_seconds: window?.resetSeconds ?? null,
  }
}
