import type { Actor, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Options = {
  changePassword: (
    caller: PersonCaller,
    change: { current: string; next: string },
    actor: Actor,
  ) => Promise<void>
}

/** PUT /api/me/password */
export function changePassword({ changePassword: change }: Options): Operation<'changePassword'> {
  return async (call) => {
    const { current_password: current, new_password: next } = call.body
    await change(call.caller, { current, next }, actorOf(call))
    return { status: 204 }
  }
}
