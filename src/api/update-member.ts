import type { components } from '../../generated/types.ts'
import type { Actor, Caller, Role } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'

type Options = {
  changeRole: (
    caller: Caller,
    personId: string,
    change: { role: Role; actor: Actor },
  ) => Promise<components['schemas']['Member']>
}

/** PATCH /api/members/{id} */
export function updateMember({ changeRole }: Options): Operation<'updateMember'> {
  return async (call) => {
    const change = { role: call.body.role, actor: actorOf(call) }
    return { status: 200, json: await changeRole(call.caller, call.path.id, change) }
  }
}
