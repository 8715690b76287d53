import type { Administrator } from '../core/caller.ts'
import type { Operation } from '../http/operation.ts'
import { administratorOf } from './administrator.ts'

/** Ends a connection that a person made. Throws `not_found`. */
export type EndConnection = (
  by: Administrator,
  which: { id: string; connectionOf: string },
) => Promise<unknown>

/** DELETE /api/me/connections/{id} */
export function endConnection({ revoke }: { revoke: EndConnection }): Operation<'endConnection'> {
  return async (call) => {
    const which = { id: call.path.id, connectionOf: call.caller.person.id }
    await revoke(administratorOf(call), which)
    return { status: 204 }
  }
}
