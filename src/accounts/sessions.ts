import { createHmac } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Tables } from '../storage/tables.ts'
import { createToken, digestOf } from './api-key.ts'
import type { ChangeParts } from './audit.ts'
import { newId } from './id.ts'
import { overloadedWhenStoreFails } from './identify.ts'
import { listPage } from './list-page.ts'
import { accountToActFor, actingFor, membershipsOf } from './memberships.ts'
import { endKeysOfEndedSessions } from './session-keys.ts'

type Session = components['schemas']['Session']

/** The network address and the browser of a request. */
export type Visitor = { address: string | null; userAgent: string | null }

/** A new session; its token is returned only here. */
export type NewSession = {
  token: string
  ageSeconds: number
  csrfToken: string
  session: Session
}

type Options = ChangeParts & {
  limits: SessionLimits
}
export type SessionLimits = { sessionTtlSeconds: number; sessionIdleSeconds: number }

export type Sessions = {
  /** Begins a session, in the transaction of the sign-in. */
  begin(transaction: Transaction<Tables>, personId: string, from: Visitor): Promise<NewSession>
  /** The person of a session token. Throws `invalid_session`. */
  identify(token: string): Promise<PersonCaller>
  /** The person as a caller for another of their accounts, or for any if an operator. Throws `not_found`. */
  actFor(caller: PersonCaller, accountId: string): Promise<Caller>
  current(caller: PersonCaller): Promise<Session>
  list(caller: PersonCaller, page: PageRequest): Promise<Page<Session>>
  /** Ends one of a person's sessions. Throws `not_found`. */
  end(caller: PersonCaller, sessionId: string, actor: Actor): Promise<void>
  /** Ends all of a person's sessions except the current one. */
  endOthers(caller: PersonCaller, actor: Actor): Promise<void>
}

const usedAgainAfterMs = 60_000
/** Above this number, a new session ends the oldest session. */
const sessionsPerPersonMax = 100
const userAgentLengthMax = 300

/** Sessions of signed-in people. Each request looks up its session: an ended session is refused at once. */
export function createSessions(options: Options): Sessions {
  const { audit, announce, clock, limits } = options
  const { db } = options.store
  const rowWith = (column: 'id' | 'digest', value: string) =>
    db.selectFrom('sessions').selectAll().where(column, '=', value).executeTakeFirst()
  const lookUp = async (token: string): Promise<PersonCaller> => {
    const now = clock()
    const row = await rowWith('digest', digestOf(token))
    if (row === undefined || isOver(row, now, limits)) throw sessionOver()
    const { id: sessionId, person_id: id } = row
    const memberships = await membershipsOf(db, id)
    if (memberships.length === 0) throw noMembershipError()
    if (now - row.last_used_at >= usedAgainAfterMs) await noteUse(db, sessionId, now)
    return actingFor({ id, sessionId, csrfToken: csrfTokenOf(token) }, memberships)
  }
  return {
    begin: async (transaction, personId, from) => {
      const now = clock()
      await removeOver(transaction, personId, { now, ...limits })
      const token = createToken()
      const row = rowOf(personId, from, { token, now, ...limits })
      await transaction.insertInto('sessions').values(row).execute()
      const session = toSession(row, row.id)
      return { token, ageSeconds: limits.sessionTtlSeconds, csrfToken: csrfTokenOf(token), session }
    },
    identify: (token) => lookUp(token).catch(overloadedWhenStoreFails('session')),
    actFor: (caller, accountId) => accountToActFor(db, caller, accountId),
    current: async ({ person: { sessionId } }) => {
      const row = await rowWith('id', sessionId)
      if (row === undefined) throw sessionOver()
      return toSession(row, sessionId)
    },
    list: ({ person }, page) => {
      const rows = db
        .selectFrom('sessions')
        .selectAll()
        .where('person_id', '=', person.id)
        .where('last_used_at', '>', clock() - limits.sessionIdleSeconds * 1000)
      const toItem = (row: Tables['sessions']) => toSession(row, person.sessionId)
      return listPage(rows, page, { time: 'created_at', toItem })
    },
    end: async ({ person, accountId }, sessionId, actor) => {
      await db.transaction().execute(async (transaction) => {
        await deleteOwn(transaction, person.id, sessionId)
        await endKeysOfEndedSessions(transaction, person.id, clock())
        const act = { account_id: accountId, action: 'session.delete', target: sessionId } as const
        await audit.write(transaction, actor, act)
      })
      announce({ kind: 'sessions_changed' })
    },
    endOthers: async ({ person, accountId: account_id }, actor) => {
      await db.transaction().execute(async (transaction) => {
        const kept = { keptId: person.sessionId, now: clock() }
        const ended = await endOtherSessions(transaction, person.id, kept)
        for (const target of ended) {
          await audit.write(transaction, actor, { account_id, action: 'session.delete', target })
        }
      })
      announce({ kind: 'sessions_changed' })
    },
  }
}

/** Ends a session of the person. Throws `not_found`. */
async function deleteOwn(
  transaction: Transaction<Tables>,
  personId: string,
  sessionId: string,
): Promise<void> {
  const { numDeletedRows } = await transaction
    .deleteFrom('sessions')
    .where('id', '=', sessionId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
  if (numDeletedRows !== 0n) return
  const text = 'You have no such session. GET /api/sessions lists yours.'
  throw new GatewayError('not_found', text, { param: 'session_id' })
}

/** Ends all sessions of a person except `keptId`; returns the ids of the ended sessions. */
export async function endOtherSessions(
  transaction: Transaction<Tables>,
  personId: string,
  { keptId, now }: { keptId: string | null; now: number },
): Promise<string[]> {
  const ended = await transaction
    .deleteFrom('sessions')
    .where('person_id', '=', personId)
    .where('id', '!=', keptId ?? '')
    .returning('id')
    .execute()
  await endKeysOfEndedSessions(transaction, personId, now)
  return ended.map(({ id }) => id)
}

/** Whether a session has reached its age limit, or was unused for too long. */
export function isOver(
  row: Pick<Tables['sessions'], 'expires_at' | 'last_used_at'>,
  now: number,
  { sessionIdleSeconds }: Pick<SessionLimits, 'sessionIdleSeconds'>,
): boolean {
  return row.expires_at <= now || row.last_used_at + sessionIdleSeconds * 1000 <= now
}

/** The error for an ended session. */
export function sessionOver(): GatewayError {
  return new GatewayError('invalid_session', 'This session has ended. Sign in again.')
}

/** The error for a person who has been removed from every account. */
export function noMembershipError(): GatewayError {
  const text = 'You are not a member of any account. Ask an administrator for an invitation.'
  return new GatewayError('insufficient_scope', text)
}

/** A CSRF token that only the holder of the session token can compute; it does not reveal that token. */
function csrfTokenOf(token: string): string {
  return createHmac('sha256', token).update('csrf').digest('base64url')
}

type Now = SessionLimits & { now: number }

function rowOf(
  personId: string,
  { address, userAgent }: Visitor,
  { token, now, sessionTtlSeconds }: Now & { token: string },
): Tables['sessions'] {
  const printable = userAgent
    ?.replaceAll(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, userAgentLengthMax)
  return {
    id: newId('ses'),
    person_id: personId,
    digest: digestOf(token),
    created_at: now,
    last_used_at: now,
    expires_at: now + sessionTtlSeconds * 1000,
    address,
    user_agent: printable || null,
  }
}

/** Removes all idle sessions, and the person's expired sessions and oldest sessions above the maximum. */
async function removeOver(
  transaction: Transaction<Tables>,
  personId: string,
  { now, sessionIdleSeconds }: Now,
): Promise<void> {
  await transaction
    .deleteFrom('sessions')
    .where('last_used_at', '<=', now - sessionIdleSeconds * 1000)
    .execute()
  const kept = transaction
    .selectFrom('sessions')
    .select('id')
    .where('person_id', '=', personId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(sessionsPerPersonMax - 1)
  await transaction
    .deleteFrom('sessions')
    .where('person_id', '=', personId)
    .where('id', 'not in', kept)
    .execute()
  await endKeysOfEndedSessions(transaction, personId, now)
}

async function noteUse(db: Kysely<Tables>, id: string, now: number): Promise<void> {
  const noted = db.updateTable('sessions').set({ last_used_at: now }).where('id', '=', id)
  // A failed write must not refuse the request.
  await noted.execute().catch(() => undefined)
}

function toSession(row: Tables['sessions'], currentId: string): Session {
  return {
    id: row.id,
    object: 'session',
    created_at: new Date(row.created_at).toISOString(),
    last_used_at: new Date(row.last_used_at).toISOString(),
    expires_at: new Date(row.expires_at).toISOString(),
    address: row.address,
    user_agent: row.user_agent,
    current: row.id === currentId,
  }
}
