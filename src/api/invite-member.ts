import type { components } from '../../generated/types.ts'
import type { Actor, Caller } from '../core/caller.ts'
import { actorOf, type Body, type Operation } from '../http/operation.ts'
import { notStored } from './not-stored.ts'

type Options = {
  create: (
    caller: Caller,
    asked: Body<'inviteMember'>,
    actor: Actor,
  ) => Promise<components['schemas']['CreatedInvitation']>
}

/** POST /api/members */
export function inviteMember({ create }: Options): Operation<'inviteMember'> {
  return async (call) => {
    const json = await create(call.caller, call.body, actorOf(call))
    return { status: 201, headers: notStored, json }
  }
}
