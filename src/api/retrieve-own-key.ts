import type { components } from '../../generated/types.ts'
import type { Allowance } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { budgetText, limitsText } from './allowance.ts'

/** GET /api/key */
export const retrieveOwnKey: Operation<'retrieveOwnKey'> = async ({ caller }) => {
  const { keyId, accountId, mode, scopes, models, allowances } = caller
  const [account, key] = allowances
  const json: components['schemas']['OwnKey'] = {
    id: keyId,
    object: 'api_key',
    account_id: accountId,
    mode,
    scopes: [...scopes],
    models: models === null ? null : [...models],
    ...told(key),
    account: told(account),
  }
  return { status: 200, json }
}

function told({ limits, budget }: Allowance) {
  return { limits: limitsText(limits), budget: budgetText(budget) }
}
