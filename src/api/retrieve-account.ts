import type { components } from '../../generated/types.ts'
import { limitsForm } from '../core/allowance-form.ts'
import type { Administrator, UsageLimits } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'
import type { ActivityOf } from './list-accounts.ts'

/** Describes an account. */
export type RetrieveAccount = (
  by: Administrator,
  id: string,
) => Promise<components['schemas']['Account']>

/** GET /api/accounts/{id} */
export function retrieveAccount(
  { retrieve }: { retrieve: RetrieveAccount },
  activityOf: ActivityOf,
  defaultLimits: () => UsageLimits,
): Operation<'retrieveAccount'> {
  return async (call) => {
    const found = await retrieve(administratorOf(call), call.path.id)
    const account = { ...found, default_limits: limitsForm(defaultLimits()) }
    if (!call.query.include_activity) return { status: 200, json: account }
    const [activity] = await activityOf([account])
    return { status: 200, json: { ...account, activity: activity! } }
  }
}
