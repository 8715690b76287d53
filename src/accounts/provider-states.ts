import type { Kysely, Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { spentBudget, type ProviderStates } from '../core/provider-states.ts'
import type { Store } from '../storage/store.ts'
import type { ApiKeysTable, Tables } from '../storage/tables.ts'
import { allowanceColumns } from './allowance.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'
import type { ChangeParts } from './audit.ts'
import { newId } from './id.ts'
import { callerOfKey, endOfKey, overloadedWhenStoreFails } from './identify.ts'
import { inherited } from './key-bounds.ts'
import { plainKey } from './key-settings.ts'
import { countOf } from './list-page.ts'

type StateName = components['schemas']['SandboxStateName']

/** A test takes seconds; the rest is for a person who looks at a failed one. */
const ttlMs = 600_000
/** `setSandboxState` in openapi.yaml names this bound. */
const keysPerAccountMax = 50
/** Rows of ended keys are kept so long, for the requests that name them. */
const keptMs = 3_600_000

/** What differs from an ordinary test key; `played` are words of the sandbox. */
const differences: Partial<Record<StateName, (now: number) => Partial<ApiKeysTable>>> = {
  'an expired key': (now) => ({ expires_at: now - 1 }),
  'a revoked key': (now) => ({ revoked_at: now }),
  'a key with a full rate limit': () => ({
    ...allowanceColumns({ limits: { requests_per_minute: 0 } }),
    counts_with: null,
  }),
  'a key that may not use the model': () => ({ allowed_models: '[]' }),
  'a key with a spent budget': () => ({
    ...allowanceColumns({ budget: { usd: '0', period: 'total' } }),
    counts_with: null,
    played: spentBudget,
  }),
  'a vendor that answers 429 twice': () => ({ played: 'sandbox:rate-limit', played_calls: 2 }),
  'a vendor that is down': () => ({ played: 'sandbox:status=503' }),
  'a slow vendor': () => ({ played: 'sandbox:delay=5000 sandbox:slow-stream=500' }),
  'a vendor that refuses the content': () => ({ played: 'sandbox:content-policy' }),
}

type Options = Pick<ChangeParts, 'announce' | 'clock'> & { store: Store }

export function createProviderStates({ store, announce, clock }: Options): ProviderStates {
  const { db } = store
  return {
    setUp: async ({ accountId, keyId }, state) => {
      const now = clock()
      const key = createKey('test')
      const rowOf = (own: ApiKeysTable): ApiKeysTable => ({
        id: newId('key'),
        account_id: accountId,
        name: `state: ${state}`,
        mode: 'test',
        kind: 'key',
        ...plainKey,
        created_at: now,
        played: '',
        ...inherited({ own, key: own }),
        expires_at: Math.min(own.expires_at ?? Infinity, now + ttlMs),
        ...differences[state]?.(now),
        digest: digestOf(key),
        hint: hintOf(key),
      })
      const row = await db.transaction().execute(async (transaction) => {
        const found = transaction.selectFrom('api_keys').selectAll().where('id', '=', keyId)
        const own = await found.executeTakeFirst()
        const ended = endOfKey(own, now)
        if (own === undefined || ended !== undefined) throw ended
        const made = rowOf(own)
        await insert(transaction, made)
        return made
      })
      const isActive = row.revoked_at === null && row.expires_at! > now
      const caller = isActive ? await callerOfKey(store, row.id) : undefined
      return { id: row.id, key, expiresAt: row.expires_at!, caller }
    },
    tearDown: async ({ accountId }, { id = '', key }) => {
      const ended = await stateKeysOf(db, accountId)
        .where((one) =>
          one.or([one('id', '=', id), one('digest', '=', key === undefined ? '' : digestOf(key))]),
        )
        .execute()
      await remove(db, ended)
      if (ended.length > 0) announce({ kind: 'keys_changed', keyIds: ended.map((one) => one.id) })
    },
    playedFor: async ({ keyId, played = '' }) => {
      const counted = db.selectFrom('api_keys').select('played_calls').where('id', '=', keyId)
      const row = await counted.executeTakeFirst().catch(overloadedWhenStoreFails('key'))
      if (row === undefined || row.played_calls === null) return played
      const { numUpdatedRows: taken } = await db
        .updateTable('api_keys')
        .set((one) => ({ played_calls: one('played_calls', '-', 1) }))
        .where('id', '=', keyId)
        .where('played_calls', '>', 0)
        .executeTakeFirstOrThrow()
        .catch(overloadedWhenStoreFails('key'))
      return taken > 0n ? played : ''
    },
  }
}

/** Inserts the key of a state, unless the account has too many, and deletes those that ended long ago. */
async function insert(transaction: Transaction<Tables>, row: ApiKeysTable): Promise<void> {
  const { account_id: accountId, created_at: now } = row
  // Serializes the set-ups of an account, which also count what others of them insert.
  await transaction
    .updateTable('accounts')
    .set({ name: (one) => one.ref('name') })
    .where('id', '=', accountId)
    .execute()
  const keys = stateKeysOf(transaction, accountId)
  await remove(transaction, await keys.where('created_at', '<', now - ttlMs - keptMs).execute())
  const current = keys.where('created_at', '>', now - ttlMs)
  if ((await countOf(current)) >= keysPerAccountMax) throw tooMany()
  await transaction.insertInto('api_keys').values(row).execute()
}

function stateKeysOf(db: Kysely<Tables>, accountId: string) {
  return db
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('played', 'is not', null)
}

/** Deletes keys and the windows of their budgets. */
async function remove(db: Kysely<Tables>, rows: readonly { id: string }[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return
  await db.deleteFrom('budget_windows').where('owner_id', 'in', ids).execute()
  await db.deleteFrom('api_keys').where('id', 'in', ids).execute()
}

function tooMany(): GatewayError {
  const text = `An account can have ${keysPerAccountMax} provider states at a time. Tear down those that a test has ended with, or wait ten minutes.`
  return new GatewayError('rate_limit_exceeded', text, { retryAfterSeconds: ttlMs / 1000 })
}
