import type { Actor, Caller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Options = { remove: (caller: Caller, personId: string, actor: Actor) => Promise<void> }

/** DELETE /api/members/{id} */
export function removeMember({ remove }: Options): Operation<'removeMember'> {
  return async (call) => {
    await remove(call.caller, call.path.id, actorOf(call))
    return { status: 204 }
  }
}
