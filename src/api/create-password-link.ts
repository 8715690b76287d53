import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import { notStored } from './not-stored.ts'

type Options = {
  create: (
    caller: Caller,
    personId: string,
    actor: Actor,
  ) => Promise<components['schemas']['CreatedPasswordLink']>
}

/** POST /api/members/{id}/password-link */
export function createPasswordLink({ create }: Options): Operation<'createPasswordLink'> {
  return async (call) => {
    const json = await create(call.caller, call.path.id, actorOf(call))
    return { status: 201, headers: notStored, json }
  }
}
