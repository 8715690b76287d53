import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
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
): Operation<'retrieveAccount'> {
  return async (call) => {
    const account = await retrieve(administratorOf(call), call.path.id)
    if (!call.query.include_activity) return { status: 200, json: account }
    const [activity] = await activityOf([account])
    return { status: 200, json: { ...account, activity: activity! } }
  }
}
