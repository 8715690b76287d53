import type { components } from '../../generated/types.ts'
import type { People } from '../accounts/people.ts'
import type { SessionKeys } from '../accounts/session-keys.ts'
import type { Sessions } from '../accounts/sessions.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { createdSecret, ok } from './answers.ts'

/** Dependencies of the operations on sessions. */
export type SessionParts = {
  cookie: SessionCookie
  people: People
  sessions: Sessions
  sessionKeys: SessionKeys
}

/** The handlers of a person's sessions. Ending the current session clears its cookie. */
export function sessionOperations({ cookie, people, sessions, sessionKeys }: SessionParts) {
  return {
    listSessions: async ({ caller, query }) => ok(await sessions.list(caller, query)),
    retrieveCurrentSession: async ({ caller }) => {
      const { id, csrfToken } = caller.person
      const [session, person] = await Promise.all([sessions.current(caller), people.retrieve(id)])
      const json: components['schemas']['SignedIn'] = {
        object: 'signed_in',
        csrf_token: csrfToken,
        session,
        person,
      }
      return { status: 200, json }
    },
    createSessionKey: async (call) =>
      createdSecret(await sessionKeys.renew(call.caller, call.body.mode)),
    deleteCurrentSession: async (call) => {
      await sessions.end(call.caller, call.caller.person.sessionId, actorOf(call))
      return { status: 204, headers: { 'set-cookie': cookie.clear() } }
    },
    deleteSession: async (call) => {
      const { session_id: id } = call.path
      await sessions.end(call.caller, id, actorOf(call))
      if (id !== call.caller.person.sessionId) return { status: 204 }
      return { status: 204, headers: { 'set-cookie': cookie.clear() } }
    },
    deleteOtherSessions: async (call) => {
      await sessions.endOthers(call.caller, actorOf(call))
      return { status: 204 }
    },
  } satisfies Partial<Operations>
}
