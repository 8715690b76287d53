import { randomUUID } from 'node:crypto'
import type { Mode } from '../core/caller.ts'
import type { Store } from '../storage/store.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'

type NewKey = {
  accountId: string
  mode: Mode
  name: string
  /** The only models that the key may call; all if absent. */
  models?: readonly string[]
  expiresAt?: number
}

/** A key without its digest. */
type KeyRow = Omit<ApiKeysTable, 'digest'>

export type Accounts = {
  /** The oldest account; `created` says that there was none before. */
  first(): Promise<{ id: string; created: boolean }>
  /** Creates a key and returns it; only its digest is stored. */
  createKey(key: NewKey): Promise<string>
  listKeys(): Promise<KeyRow[]>
  /** Ends a key; false when there is no such active key. */
  revokeKey(id: string): Promise<boolean>
}

export function createAccounts({ db }: Store, clock: () => number): Accounts {
  return {
    // In a transaction: two processes at their first start must agree on one account.
    first: () =>
      db.transaction().execute(async (transaction) => {
        const known = await transaction
          .selectFrom('accounts')
          .select('id')
          .orderBy('created_at')
          .limit(1)
          .executeTakeFirst()
        if (known !== undefined) return { id: known.id, created: false }
        const id = newId('acc')
        const row = { id, name: 'default', created_at: clock() }
        await transaction.insertInto('accounts').values(row).execute()
        return { id, created: true }
      }),
    createKey: async ({ accountId, mode, name, models, expiresAt }) => {
      const key = createKey(mode)
      const row: ApiKeysTable = {
        id: newId('key'),
        account_id: accountId,
        name,
        mode,
        digest: digestOf(key),
        hint: hintOf(key),
        allowed_models: models === undefined ? null : JSON.stringify(models),
        created_at: clock(),
        expires_at: expiresAt ?? null,
        revoked_at: null,
      }
      await db.insertInto('api_keys').values(row).execute()
      return key
    },
    listKeys: () => db.selectFrom('api_keys').select(keyColumns).orderBy('created_at').execute(),
    revokeKey: async (id) => {
      const { numUpdatedRows } = await db
        .updateTable('api_keys')
        .set({ revoked_at: clock() })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
  }
}

const keyColumns = [
  'id',
  'account_id',
  'name',
  'mode',
  'hint',
  'allowed_models',
  'created_at',
  'expires_at',
  'revoked_at',
] as const

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`
}
