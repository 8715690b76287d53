import type { components } from '../../generated/types.ts'
import type { Actor, Mode, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import { notStored } from './not-stored.ts'

type RenewSessionKey = (
  caller: PersonCaller,
  mode: Mode,
  actor: Actor,
) => Promise<components['schemas']['CreatedApiKey']>

/** POST /api/sessions/current/key */
export function createSessionKey({
  renew,
}: {
  renew: RenewSessionKey
}): Operation<'createSessionKey'> {
  return async (call) => {
    const json = await renew(call.caller, call.body.mode, actorOf(call))
    return { status: 201, headers: notStored, json }
  }
}
