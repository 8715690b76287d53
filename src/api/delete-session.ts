import type { Actor, PersonCaller } from '../core/caller.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'

type EndSession = (caller: PersonCaller, sessionId: string, actor: Actor) => Promise<void>
type Options = { end: EndSession; cookie: SessionCookie }

/** DELETE /api/sessions/{session_id} */
export function deleteSession({ end, cookie }: Options): Operation<'deleteSession'> {
  return async (call) => {
    const { session_id: id } = call.path
    await end(call.caller, id, actorOf(call))
    if (id !== call.caller.person.sessionId) return { status: 204 }
    return { status: 204, headers: { 'set-cookie': cookie.clear() } }
  }
}
