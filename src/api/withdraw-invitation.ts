import type { Actor, Caller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Options = { withdraw: (caller: Caller, id: string, actor: Actor) => Promise<void> }

/** DELETE /api/invitations/{id} */
export function withdrawInvitation({ withdraw }: Options): Operation<'withdrawInvitation'> {
  return async (call) => {
    await withdraw(call.caller, call.path.id, actorOf(call))
    return { status: 204 }
  }
}
