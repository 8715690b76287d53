import type { Kysely, Transaction } from 'kysely'
import type { Actor } from '../../core/caller.ts'
import { listed } from '../../storage/sql-dialect.ts'
import type { ApiKeysTable, Tables } from '../../storage/tables.ts'
import { countedAs } from '../allowance.ts'
import type { Audit } from '../audit.ts'
import { boundsIn } from '../key-bounds.ts'
import { scopesIn, timeText } from '../key-form.ts'

type Options = { db: Kysely<Tables>; audit: Pick<Audit, 'write'>; clock: () => number }

/** Ends a connection and its tokens; does nothing for an ended connection. */
export function endConnection({ db, audit, clock }: Options, id: string, by: Actor): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    const row = await transaction
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', 'connection')
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    if (row !== undefined) await endConnections(transaction, [row], { by, audit, now: clock() })
  })
}

export type Ending = { by: Actor; audit: Pick<Audit, 'write'>; now: number }

/** Ends connections in a transaction, and records each in the audit log. */
async function endConnections(
  transaction: Transaction<Tables>,
  rows: readonly Pick<ApiKeysTable, 'id' | 'account_id'>[],
  { by, audit, now }: Ending,
): Promise<void> {
  const ids = rows.map(({ id }) => id)
  await transaction
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', 'in', listed(transaction, ids))
    .execute()
  await removeTokens(transaction, ids)
  const [before, after] = [{ revoked_at: null }, { revoked_at: timeText(now) }]
  for (const { id: target, account_id } of rows) {
    await audit.write(transaction, by, { account_id, action: 'key.revoke', target, before, after })
  }
}

/** Removes the tokens, codes and grants of connections or client keys. */
async function removeTokens(
  transaction: Transaction<Tables>,
  keyIds: readonly string[],
): Promise<void> {
  await transaction
    .deleteFrom('oauth_artifacts')
    .where('grant_id', 'in', listed(transaction, keyIds))
    .execute()
}

/** The columns that a connection copies from the key that it was created with. */
export function sharedWith(key: ApiKeysTable): Partial<ApiKeysTable> {
  return {
    mode: key.mode,
    // A connection has no administrative scopes.
    scopes: JSON.stringify(scopesIn(key).filter((scope) => scope === 'inference')),
    ...boundsIn(key),
    expires_at: key.expires_at,
    counts_with: countedAs(key),
  }
}

/** Copies a key's changed settings to its connections, in the transaction that changed the key. */
export async function followKey(
  transaction: Transaction<Tables>,
  key: ApiKeysTable,
): Promise<void> {
  await transaction
    .updateTable('api_keys')
    .set(sharedWith(key))
    .where('bound_to', '=', key.id)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Removes a key's tokens and ends its connections, in the transaction that revoked the key. */
export async function endWithKey(
  transaction: Transaction<Tables>,
  key: ApiKeysTable,
  ending: Ending,
): Promise<void> {
  await removeTokens(transaction, [key.id])
  const bound = await transaction
    .selectFrom('api_keys')
    .select(['id', 'account_id'])
    .where('bound_to', '=', key.id)
    .where('revoked_at', 'is', null)
    .execute()
  if (bound.length > 0) await endConnections(transaction, bound, ending)
}

/** Ends the connections of a person in an account, except connections that are bound to a key. */
export async function endConnectionsOf(
  transaction: Transaction<Tables>,
  { personId, accountId }: { personId: string; accountId: string },
  ending: Ending,
): Promise<void> {
  const rows = await transaction
    .selectFrom('api_keys')
    .select(['id', 'account_id'])
    .where('kind', '=', 'connection')
    .where('account_id', '=', accountId)
    .where('created_by', '=', personId)
    .where('bound_to', 'is', null)
    .where('revoked_at', 'is', null)
    .execute()
  if (rows.length > 0) await endConnections(transaction, rows, ending)
}
