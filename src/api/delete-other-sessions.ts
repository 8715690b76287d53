import type { Actor, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Options = { endOthers: (caller: PersonCaller, actor: Actor) => Promise<void> }

/** DELETE /api/sessions */
export function deleteOtherSessions({ endOthers }: Options): Operation<'deleteOtherSessions'> {
  return async (call) => {
    await endOthers(call.caller, actorOf(call))
    return { status: 204 }
  }
}
