import type { Actor, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'

type EndSession = (caller: PersonCaller, sessionId: string, actor: Actor) => Promise<void>
type Options = { end: EndSession; cookie: SessionCookie }

/** DELETE /api/sessions/current */
export function deleteCurrentSession({ end, cookie }: Options): Operation<'deleteCurrentSession'> {
  return async (call) => {
    await end(call.caller, call.caller.person.sessionId, actorOf(call))
    return { status: 204, headers: { 'set-cookie': cookie.clear() } }
  }
}
