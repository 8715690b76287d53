import type { components } from '../../generated/types.ts'
import type { Budgets } from '../accounts/budgets.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { type LimitState, limitsForm } from '../core/limits.ts'
import type { Operation } from '../http/operation.ts'

type Schemas = components['schemas']

type LookAtLimits = (caller: Caller) => readonly LimitState[] | Promise<readonly LimitState[]>

/** Dependencies of `retrieveOwnKey`. */
export type OwnKeyParts = { budgets: Pick<Budgets, 'statesFor'>; lookAtLimits: LookAtLimits }

/** GET /api/key */
export function retrieveOwnKey({
  budgets,
  lookAtLimits,
}: OwnKeyParts): Operation<'retrieveOwnKey'> {
  return async ({ caller }) => {
    const { keyId, accountId, mode, scopes, models, allowances } = caller
    const [account, key] = allowances
    const [ofAccount, ofKey] = await budgets.statesFor(caller)
    const states = await lookAtLimits(caller)
    const json: Schemas['OwnKey'] = {
      id: keyId,
      object: 'api_key',
      account_id: accountId,
      mode,
      scopes: [...scopes],
      models: models === null ? null : [...models],
      ...stateOf(key, states, 'key'),
      budget: ofKey,
      account: { ...stateOf(account, states, 'account'), budget: ofAccount },
    }
    return { status: 200, json }
  }
}

function stateOf({ limits }: Allowance, states: readonly LimitState[], whose: LimitState['owner']) {
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
