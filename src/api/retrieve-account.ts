import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

/** Describes an account. */
export type RetrieveAccount = (
  by: Administrator,
  id: string,
) => Promise<components['schemas']['Account']>

/** GET /api/accounts/{id} */
export function retrieveAccount({
  retrieve,
}: {
  retrieve: RetrieveAccount
}): Operation<'retrieveAccount'> {
  return async (call) => ({
    status: 200,
    json: await retrieve(administratorOf(call), call.path.id),
  })
}
