import type { components } from '../../generated/types.ts'
import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

/** Ends a key of an account. */
export type RevokeKey = (
  by: Administrator,
  which: { id: string; accountId: string },
) => Promise<components['schemas']['ApiKey']>

/** DELETE /api/keys/{id} */
export function revokeKey({ revoke }: { revoke: RevokeKey }): Operation<'revokeKey'> {
  return async (call) => {
    const which = { id: call.path.id, accountId: call.caller.accountId }
    return { status: 200, json: await revoke(administratorOf(call), which) }
  }
}
