import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

type Schemas = components['schemas']

/** Changes an account. */
export type UpdateAccount = (
  by: Administrator,
  id: string,
  change: Schemas['AccountChange'],
) => Promise<Schemas['Account']>

/** PATCH /api/accounts/{id} */
export function updateAccount({ update }: { update: UpdateAccount }): Operation<'updateAccount'> {
  return async (call) => ({
    status: 200,
    json: await update(administratorOf(call), call.path.id, call.body),
  })
}
