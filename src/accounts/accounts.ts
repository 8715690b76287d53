import type { Caller, Mode, Scope } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Store } from '../storage/store.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { noAllowance } from './allowance.ts'
import { createKey, digestOf, hintOf } from './api-key.ts'
import { newId } from './id.ts'

type NewKey = {
  accountId: string
  mode: Mode
  name: string
  /** The only models that the key may call; all if absent. */
  models?: readonly string[]
  /** What the key may do; to call models if absent. */
  scopes?: readonly Scope[]
  /** The only networks that it may be used from, as CIDR; all if absent. */
  networks?: readonly string[]
  expiresAt?: number
}

/** A key without its digest. */
type KeyRow = Pick<ApiKeysTable, (typeof keyColumns)[number]>

export type Accounts = {
  /** The oldest account; `created` says that there was none before. */
  first(): Promise<{ id: string; created: boolean }>
  /** Creates a key and returns it; only its digest is stored. */
  createKey(key: NewKey): Promise<string>
  listKeys(): Promise<KeyRow[]>
  /**
   * The caller who acts for another account: whoever operates the gateway, for any. Throws
   * `not_found`, also where there is such an account.
   */
  actFor(caller: Caller, accountId: string): Promise<Caller>
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
        const row = { id, name: 'default', created_at: clock(), is_operator: 1, ...noAllowance }
        await transaction.insertInto('accounts').values(row).execute()
        return { id, created: true }
      }),
    createKey: async (asked) => {
      const { key, row } = newKey(asked, clock())
      await db.insertInto('api_keys').values(row).execute()
      return key
    },
    actFor: async (caller, accountId) => {
      if (accountId === caller.accountId) return caller
      const isThere =
        caller.isOperator &&
        caller.scopes.includes('admin') &&
        (await db
          .selectFrom('accounts')
          .select('id')
          .where('id', '=', accountId)
          .executeTakeFirst()) !== undefined
      if (isThere) return { ...caller, accountId }
      throw new GatewayError(
        'not_found',
        'There is no such account. GET /api/accounts lists yours.',
        {
          param: 'account_id',
        },
      )
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

function newKey(asked: NewKey, now: number): { key: string; row: ApiKeysTable } {
  const { accountId, mode, name, models, scopes = ['inference'], networks, expiresAt } = asked
  const key = createKey(mode)
  const row: ApiKeysTable = {
    id: newId('key'),
    account_id: accountId,
    name,
    mode,
    digest: digestOf(key),
    hint: hintOf(key),
    allowed_models: models === undefined ? null : JSON.stringify(models),
    scopes: JSON.stringify(scopes),
    allowed_addresses: networks === undefined ? null : JSON.stringify(networks),
    ...noAllowance,
    created_at: now,
    expires_at: expiresAt ?? null,
    revoked_at: null,
  }
  return { key, row }
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
