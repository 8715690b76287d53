import { createHmac } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Page, PageRequest } from '../core/page.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Store } from '../storage/store.ts'
import type { SessionsTable } from '../storage/people-tables.ts'
import type { Tables } from '../storage/tables.ts'
import { createToken, digestOf } from './api-key.ts'
import type { Audit } from './audit.ts'
import { newId } from './id.ts'
import { notLookedUp } from './identify.ts'
import { listPage } from './list-page.ts'
import { accountToActFor, actingFor, membershipsOf } from './memberships.ts'
import { endKeysOfEndedSessions } from './session-keys.ts'

type Session = components['schemas']['Session']

/** Where a person comes from. */
export type Visitor = { address: string | null; userAgent: string | null }

/** A session that was begun; the token is told this once. */
export type BegunSession = {
  token: string
  ageSeconds: number
  csrfToken: string
  session: Session
}

type Options = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  announce: Announce
  /** Unix time in milliseconds, by which sessions end. */
  clock: () => number
  limits: SessionLimits
}
export type SessionLimits = { sessionTtlSeconds: number; sessionIdleSeconds: number }

export type Sessions = {
  /** Begins a session, in the transaction of what lets the person in. */
  begin(transaction: Transaction<Tables>, personId: string, from: Visitor): Promise<BegunSession>
  /** Who has the session of a token. Throws `invalid_session`. */
  identify(token: string): Promise<PersonCaller>
  /** The person who acts for another account of theirs, or for any as an operator. Throws `not_found`. */
  actFor(caller: PersonCaller, accountId: string): Promise<Caller>
  /** The session that is presented. */
  current(caller: PersonCaller): Promise<Session>
  list(caller: PersonCaller, page: PageRequest): Promise<Page<Session>>
  /** Ends one of a person's sessions. Throws `not_found`. */
  end(caller: PersonCaller, sessionId: string, actor: Actor): Promise<void>
  /** Ends all of a person's sessions but the one that is presented. */
  endOthers(caller: PersonCaller, actor: Actor): Promise<void>
}

const usedAgainAfterMs = 60_000
/** The oldest is ended for a new one. */
const sessionsPerPersonMax = 100
const userAgentLengthMax = 300

/** Where people are signed in. A session is looked up for each request: once ended, it is over. */
export function createSessions(options: Options): Sessions {
  const { audit, announce, clock, limits } = options
  const { db } = options.store
  const lookUp = async (token: string): Promise<PersonCaller> => {
    const now = clock()
    const row = await db
      .selectFrom('sessions')
      .selectAll()
      .where('digest', '=', digestOf(token))
      .executeTakeFirst()
    if (row === undefined || isOver(row, now, limits)) throw sessionOver()
    const { id: sessionId, person_id: id } = row
    const memberships = await membershipsOf(db, id)
    if (memberships.length === 0) throw memberOfNone()
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
    identify: (token) => lookUp(token).catch(notLookedUp('session')),
    actFor: (caller, accountId) => accountToActFor(db, caller, accountId),
    current: async ({ person: { sessionId } }) => {
      const row = await db
        .selectFrom('sessions')
        .selectAll()
        .where('id', '=', sessionId)
        .executeTakeFirst()
      if (row === undefined) throw sessionOver()
      return toSession(row, sessionId)
    },
    list: ({ person }, page) => {
      const rows = db
        .selectFrom('sessions')
        .selectAll()
        .where('person_id', '=', person.id)
        .where('last_used_at', '>', clock() - limits.sessionIdleSeconds * 1000)
      const tell = (row: SessionsTable) => toSession(row, person.sessionId)
      return listPage(rows, page, { time: 'created_at', tell })
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

/** Throws `not_found`. */
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

/** Ends all sessions of a person but one; gives their ids. */
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

/** Whether a session has ended by its age, or because nobody used it. */
export function isOver(
  row: Pick<SessionsTable, 'expires_at' | 'last_used_at'>,
  now: number,
  { sessionIdleSeconds }: Pick<SessionLimits, 'sessionIdleSeconds'>,
): boolean {
  return row.expires_at <= now || row.last_used_at + sessionIdleSeconds * 1000 <= now
}

/** The error for a session that is none any more. */
export function sessionOver(): GatewayError {
  return new GatewayError('invalid_session', 'This session is over. Sign in again.')
}

/** The error for a person whom every account has removed. */
export function memberOfNone(): GatewayError {
  const text = 'You are a member of no account. Ask for an invitation to one.'
  return new GatewayError('insufficient_scope', text)
}

/** Known to whoever has the token alone, and of no use to find it. */
function csrfTokenOf(token: string): string {
  return createHmac('sha256', token).update('csrf').digest('base64url')
}

type Now = SessionLimits & { now: number }

function rowOf(
  personId: string,
  { address, userAgent }: Visitor,
  { token, now, sessionTtlSeconds }: Now & { token: string },
): SessionsTable {
  const told = userAgent
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
    user_agent: told || null,
  }
}

/** Removes everybody's sessions that are over, and the oldest of one who has too many. */
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
  // Who only reads may do so while nothing can be written.
  await noted.execute().catch(() => undefined)
}

function toSession(row: SessionsTable, currentId: string): Session {
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
