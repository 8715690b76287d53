import type { components } from '../../generated/types.ts'
import type { Operation } from '../http/operation.ts'
import { strangerOf, type Stranger } from './stranger.ts'

type Options = {
  describe: (token: string, from: Stranger) => Promise<components['schemas']['InvitationOffer']>
}

/** POST /api/invitations/describe */
export function describeInvitation({ describe }: Options): Operation<'describeInvitation'> {
  return async (call) => {
    return { status: 200, json: await describe(call.body.token, strangerOf(call)) }
  }
}
