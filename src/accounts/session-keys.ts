import { sql, type Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Caller, Mode, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { ApiKeysTable, Tables } from '../storage/tables.ts'
import { countedAs } from './allowance.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'
import type { ChangeParts } from './audit.ts'
import { readKeyStates } from './budget-states.ts'
import { newId } from './id.ts'
import { boundsIn } from './key-bounds.ts'
import { keyForm } from './key-form.ts'
import { plainKey } from './key-settings.ts'

type CreatedKey = components['schemas']['CreatedApiKey']

export type SessionKeys = ReturnType<typeof createSessionKeys>

type Options = Omit<ChangeParts, 'audit'> & {
  limits: { sessionIdleSeconds: number }
}

/** The lifetime of a key, unless its session ends earlier. */
const keyTtlMs = 3_600_000

/** The keys that signed-in people call models with: rows of `api_keys` of kind `session`. */
export function createSessionKeys(options: Options) {
  const { announce, clock, limits } = options
  const { db } = options.store
  return {
    /**
     * Not in the audit log, since the playground does it when it is opened, and it gives no new permission.
     * Returns the person's key for the current account with a new secret; the old secret stops working.
     * Throws `invalid_session`, and `not_found` for an account that the person does not belong to.
     */
    renew: async (caller: PersonCaller, mode: Mode): Promise<CreatedKey> => {
      const renewed = await db.transaction().execute(async (transaction) => {
        const now = clock()
        const { name } = await memberOf(transaction, caller)
        const sessionEnd = await endOfSession(transaction, caller, limits)
        const key = createKey(mode)
        const secret = {
          digest: digestOf(key),
          hint: hintOf(key),
          expires_at: Math.min(now + keyTtlMs, sessionEnd),
          bound_to: caller.person.sessionId,
        }
        const fresh = {
          id: newId('key'),
          account_id: caller.accountId,
          name: `Playground of ${name}`,
          mode,
          ...plainKey,
          created_at: now,
          created_by: caller.person.id,
          kind: 'session' as const,
          ...(await boundsOfPerson(transaction, caller, mode)),
          ...secret,
        }
        const row = await transaction
          .insertInto('api_keys')
          .values(fresh)
          .onConflict((one) =>
            one
              .columns(['created_by', 'account_id', 'mode'])
              // SQLite matches the partial index only by its literal condition.
              .where(sql<boolean>`kind = 'session' and revoked_at is null`)
              .doUpdateSet(secret),
          )
          .returningAll()
          .executeTakeFirstOrThrow()
        const [budgets] = await readKeyStates(transaction, [row], now)
        return { ...keyForm(row, { nowMs: now, usedAtMs: undefined, ...budgets! }), key }
      })
      announce({ kind: 'keys_changed', keyIds: [renewed.id] })
      return renewed
    },
  }
}

/** Whether a caller used a session key. */
export function isOfSession({ boundTo }: Pick<Caller, 'boundTo'>): boolean {
  return boundTo?.startsWith('ses_') === true
}

/** Ends a person's keys of ended sessions, in the transaction that ended them. */
export async function endKeysOfEndedSessions(
  transaction: Transaction<Tables>,
  personId: string,
  now: number,
): Promise<void> {
  const open = transaction.selectFrom('sessions').select('id').where('person_id', '=', personId)
  await ending(transaction, personId, now).where('bound_to', 'not in', open).execute()
}

/** Ends a person's session keys in an account, in the transaction that removes the person from it. */
export async function endSessionKeysIn(
  transaction: Transaction<Tables>,
  { personId, accountId }: { personId: string; accountId: string },
  now: number,
): Promise<void> {
  await ending(transaction, personId, now).where('account_id', '=', accountId).execute()
}

/** Expires session keys; they are not revoked, so that the person's next session reuses the row. */
function ending(transaction: Transaction<Tables>, personId: string, now: number) {
  return transaction
    .updateTable('api_keys')
    .set({ expires_at: now })
    .where('created_by', '=', personId)
    .where('kind', '=', 'session')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
}

/**
 * Reads the member in the transaction, so that a person removed in the meantime gets no key.
 * Operators who are not members get no key.
 */
async function memberOf(
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
  const text = 'You are not a member of this account. GET /api/me lists your accounts.'
  throw new GatewayError('not_found', text, { param: 'account_id' })
}

/** When the session ends if it is not used again. Throws `invalid_session` if it has ended. */
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
  throw new GatewayError('invalid_session', 'This session has ended. Sign in again.')
}

/** The limits and counter of the person's previous key, which a revocation does not reset. */
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
