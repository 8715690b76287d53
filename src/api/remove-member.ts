import type { Actor, Caller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import type { ListKeys } from './list-keys.ts'

type Options = { remove: (caller: Caller, personId: string, actor: Actor) => Promise<void> }

/** DELETE /api/members/{id} */
export function removeMember({ remove }: Options, list: ListKeys): Operation<'removeMember'> {
  return async (call) => {
    const { id } = call.path
    const { accountId } = call.caller
    await remove(call.caller, id, actorOf(call))
    const page = { limit: 100, order: 'desc' } as const
    const keys = await list({ accountId, createdBy: id, state: 'active' }, page)
    return { status: 200, json: { id, object: 'removed_member', keys } }
  }
}
