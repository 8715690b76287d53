import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

type Schemas = components['schemas']

/** Changes a key of an account. */
export type UpdateKey = (
  by: Administrator,
  which: { id: string; accountId: string },
  change: Schemas['ApiKeyChange'],
) => Promise<Schemas['ApiKey']>

/** PATCH /api/keys/{id} */
export function updateKey({ update }: { update: UpdateKey }): Operation<'updateKey'> {
  return async (call) => {
    const which = { id: call.path.id, accountId: call.caller.accountId }
    return { status: 200, json: await update(administratorOf(call), which, call.body) }
  }
}
