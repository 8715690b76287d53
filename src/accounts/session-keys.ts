import { sql, type Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor, Caller, Mode, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Announce } from '../peers/announcement.ts'
import type { Store } from '../storage/store.ts'
import type { ApiKeysTable, Tables } from '../storage/tables.ts'
import { countedAs, noAllowance } from './allowance.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'
import type { Audit } from './audit.ts'
import { readStatesOf } from './budget-states.ts'
import { newId } from './id.ts'
import { boundsIn } from './key-bounds.ts'
import { keyForm, keySettings } from './key-form.ts'

type CreatedKey = components['schemas']['CreatedApiKey']

/** The keys with which people who are signed in call models: rows of `api_keys` of kind `session`. */
export type SessionKeys = {
  /**
   * The key of a person in the account that they act for, with a new secret; the one before it is
   * refused from now on. Throws `invalid_session`, and `not_found` for an account that is not theirs.
   */
  renew(caller: PersonCaller, mode: Mode, actor: Actor): Promise<CreatedKey>
}

type Options = {
  store: Pick<Store, 'db'>
  audit: Pick<Audit, 'write'>
  announce: Announce
  /** Unix time in milliseconds, by which keys expire. */
  clock: () => number
  limits: { sessionIdleSeconds: number }
}

/** How long a key is good for, where its session is. */
const keyTtlMs = 3_600_000

export function createSessionKeys(options: Options): SessionKeys {
  const { audit, announce, clock, limits } = options
  const { db } = options.store
  return {
    renew: async (caller, mode, actor) => {
      const renewed = await db.transaction().execute(async (transaction) => {
        const now = clock()
        const { name } = await memberBehind(transaction, caller)
        const sessionEnd = await endOfSession(transaction, caller, limits)
        const key = createKey(mode)
        const secret = {
          digest: digestOf(key),
          hint: hintOf(key),
          expires_at: Math.min(now + keyTtlMs, sessionEnd),
          bound_to: caller.person.sessionId,
        }
        const fresh = {
          ...rowOf(caller, { name, mode, now }),
          ...(await boundsOfPerson(transaction, caller, mode)),
          ...secret,
        }
        const row = await transaction
          .insertInto('api_keys')
          .values(fresh)
          .onConflict((one) =>
            one
              .columns(['created_by', 'account_id', 'mode'])
              // Written out: SQLite finds the index by its very words.
              .where(sql<boolean>`kind = 'session' and revoked_at is null`)
              .doUpdateSet(secret),
          )
          .returningAll()
          .executeTakeFirstOrThrow()
        // Renewed it may do what it could before: nothing to write down.
        if (row.id === fresh.id) {
          const act = { account_id: row.account_id, action: 'key.create', target: row.id } as const
          const after = { ...keySettings(row), kind: row.kind }
          await audit.write(transaction, actor, { ...act, after })
        }
        const [budget = null] = await readStatesOf(transaction, [row], now)
        return { ...keyForm(row, { nowMs: now, usedAtMs: undefined, budget }), key }
      })
      announce({ kind: 'keys_changed', keyIds: [renewed.id] })
      return renewed
    },
  }
}

/** Whether a caller has come with the key of a session. */
export function isOfSession({ boundTo }: Pick<Caller, 'boundTo'>): boolean {
  return boundTo?.startsWith('ses_') === true
}

/** Ends the keys of a person whose sessions are there no more, in the transaction that has ended them. */
export async function endKeysOfEndedSessions(
  transaction: Transaction<Tables>,
  personId: string,
  now: number,
): Promise<void> {
  const open = transaction.selectFrom('sessions').select('id').where('person_id', '=', personId)
  await ending(transaction, personId, now).where('bound_to', 'not in', open).execute()
}

/** Ends the keys that a person has for sessions in an account, in the transaction that removes them from it. */
export async function endSessionKeysIn(
  transaction: Transaction<Tables>,
  { personId, accountId }: { personId: string; accountId: string },
  now: number,
): Promise<void> {
  await ending(transaction, personId, now).where('account_id', '=', accountId).execute()
}

/** They expire, and are not revoked: the next session of the person takes the row up again. */
function ending(transaction: Transaction<Tables>, personId: string, now: number) {
  return transaction
    .updateTable('api_keys')
    .set({ expires_at: now })
    .where('created_by', '=', personId)
    .where('kind', '=', 'session')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
}

/** Read in the transaction: who has just been removed gets no key, nor who only runs the gateway. */
async function memberBehind(
  transaction: Transaction<Tables>,
  { accountId, person }: PersonCaller,
): Promise<{ name: string }> {
  const found = await transaction
    .selectFrom('members')
    .innerJoin('people', 'people.id', 'members.person_id')
    .select('people.name')
    .where('members.account_id', '=', accountId)
    .where('members.person_id', '=', person.id)
    .executeTakeFirst()
  if (found !== undefined) return found
  const text = 'You are no member of this account. Choose one of those that GET /api/me lists.'
  throw new GatewayError('not_found', text, { param: 'account_id' })
}

/** When the session ends if nobody uses it any more. Throws `invalid_session` where it has. */
async function endOfSession(
  transaction: Transaction<Tables>,
  { person: { sessionId } }: PersonCaller,
  { sessionIdleSeconds }: Options['limits'],
): Promise<number> {
  const row = await transaction
    .selectFrom('sessions')
    .select(['expires_at', 'last_used_at'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  if (row !== undefined) {
    return Math.min(row.expires_at, row.last_used_at + sessionIdleSeconds * 1000)
  }
  throw new GatewayError('invalid_session', 'This session is over. Sign in again.')
}

/**
 * What administrators set for the person's key before, with what is counted: a key that they end gives
 * neither back.
 */
async function boundsOfPerson(
  transaction: Transaction<Tables>,
  { accountId, person }: PersonCaller,
  mode: Mode,
): Promise<Partial<ApiKeysTable>> {
  const last = await transaction
    .selectFrom('api_keys')
    .selectAll()
    .where('created_by', '=', person.id)
    .where('account_id', '=', accountId)
    .where('mode', '=', mode)
    .where('kind', '=', 'session')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last === undefined ? {} : { ...boundsIn(last), counts_with: countedAs(last) }
}

type Fresh = { name: string; mode: Mode; now: number }

function rowOf(
  { accountId, person }: PersonCaller,
  { name, mode, now }: Fresh,
): Omit<ApiKeysTable, 'digest' | 'hint' | 'expires_at' | 'bound_to'> {
  return {
    id: newId('key'),
    account_id: accountId,
    name: `Playground of ${name}`,
    mode,
    allowed_models: null,
    scopes: JSON.stringify(['inference']),
    allowed_addresses: null,
    ...noAllowance,
    created_at: now,
    revoked_at: null,
    replaced_by: null,
    counts_with: null,
    last_used_at: null,
    created_by: person.id,
    kind: 'session',
    client_id: null,
    client_name: null,
    client_redirect_host: null,
  }
}
