import type { Actor, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Options = { leave: (person: PersonCaller, accountId: string, actor: Actor) => Promise<void> }

/** DELETE /api/me/memberships/{id} */
export function leaveAccount({ leave }: Options): Operation<'leaveAccount'> {
  return async (call) => {
    await leave(call.caller, call.path.id, actorOf(call))
    return { status: 204 }
  }
}
