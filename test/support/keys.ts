import { createAccounts } from '../../src/accounts/accounts.ts'
import { noAllowance } from '../../src/accounts/allowance.ts'
import { createKey, digestOf, hintOf } from '../../src/accounts/api-key.ts'
import { createAudit } from '../../src/accounts/audit.ts'
import { newId } from '../../src/accounts/id.ts'
import { createKeys } from '../../src/accounts/keys.ts'
import type { Mode, Scope } from '../../src/core/caller.ts'
import type { Announce } from '../../src/peers/announcement.ts'
import type { Store } from '../../src/storage/store.ts'
import type { ApiKeysTable } from '../../src/storage/tables.ts'

/** Columns of a key's row, also values that the gateway would not write. */
export type StoredKey = {
  models?: string[]
  scopes?: Scope[]
  networks?: string[]
  expiresAt?: number
  row?: Partial<ApiKeysTable>
}

/**
 * Inserts a key's row, and returns the key.
 *
 * @example
 * const key = await storeKey(store, { accountId, mode: 'live', now: Date.now() })
 */
export async function storeKey(
  { db }: Pick<Store, 'db'>,
  { accountId, mode, now }: { accountId: string; mode: Mode; now: number },
  { models, scopes = ['inference'], networks, expiresAt, row = {} }: StoredKey = {},
): Promise<string> {
  const key = createKey(mode)
  const values: ApiKeysTable = {
    id: newId('key'),
    account_id: accountId,
    name: `${mode} key`,
    mode,
    digest: digestOf(key),
    hint: hintOf(key),
    allowed_models: models === undefined ? null : JSON.stringify(models),
    scopes: JSON.stringify(scopes),
    allowed_addresses: networks === undefined ? null : JSON.stringify(networks),
    ...noAllowance,
    played: null,
    played_calls: null,
    tag_budgets: null,
    created_at: now,
    expires_at: expiresAt ?? null,
    revoked_at: null,
    replaced_by: null,
    counts_with: null,
    last_used_at: null,
    created_by: null,
    kind: 'key',
    client_id: null,
    client_name: null,
    client_redirect_host: null,
    bound_to: null,
    cassette: null,
    ...row,
  }
  await db.insertInto('api_keys').values(values).execute()
  return key
}

/** Revokes every key directly in the database, as another process would. */
export async function revokeStoredKeys({ db }: Pick<Store, 'db'>, now: number): Promise<void> {
  await db.updateTable('api_keys').set({ revoked_at: now }).execute()
}

/** Accounts and keys of a store; every model name is a valid id. */
export function accountsOf(
  store: Pick<Store, 'db'>,
  clock: () => number,
  announce: Announce = () => undefined,
) {
  const audit = createAudit(store, clock)
  const parts = { store, audit, announce, clock }
  const keys = createKeys({ ...parts, modelIds: (names) => [...names] })
  return { audit, accounts: createAccounts(parts), keys }
}
