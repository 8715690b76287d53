import type { Actor, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { actorOf, type Body, type Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { strangerOf, welcome, type LetIn, type Stranger } from './stranger.ts'

type Options = {
  accept: (accepting: Body<'acceptInvitation'>, from: Stranger) => Promise<LetIn>
  join: (
    caller: PersonCaller,
    token: string,
    by: Actor & Pick<Stranger, 'origin'>,
  ) => Promise<LetIn['signedIn']>
  cookie: SessionCookie
}

/** POST /api/invitations/accept */
export function acceptInvitation({ accept, join, cookie }: Options): Operation<'acceptInvitation'> {
  return async (call) => {
    const { caller, body } = call
    const from = strangerOf(call)
    if (caller === undefined) return welcome(cookie, await accept(body, from))
    const param = (['name', 'password'] as const).find((member) => body[member] !== undefined)
    if (param !== undefined) throw signedInAlready(param)
    const by = { ...actorOf({ ...call, caller }), origin: from.origin }
    return { status: 201, json: await join(caller, body.token, by) }
  }
}

function signedInAlready(param: string): GatewayError {
  const text = `You are signed in: leave '${param}' out, or sign out first.`
  return new GatewayError('invalid_value', text, { param })
}
