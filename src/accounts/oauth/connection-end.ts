import type { Kysely, Transaction } from 'kysely'
import type { Actor } from '../../core/caller.ts'
import { listed } from '../../storage/sql-dialect.ts'
import type { ApiKeysTable, Tables } from '../../storage/tables.ts'
import type { Audit } from '../audit.ts'
import { timeText } from '../key-form.ts'

type Options = { db: Kysely<Tables>; audit: Pick<Audit, 'write'>; clock: () => number }

/** Ends a connection, with all that its client has of it; one that has ended stays as it is. */
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

/** Who ends connections, and when. */
export type Ending = { by: Actor; audit: Pick<Audit, 'write'>; now: number }

/** Ends connections in the transaction of what ends them, and writes each down. */
export async function endConnections(
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

/** Removes what clients have of connections or of keys of their own. */
export async function removeTokens(
  transaction: Transaction<Tables>,
  keyIds: readonly string[],
): Promise<void> {
  await transaction
    .deleteFrom('oauth_artifacts')
    .where('grant_id', 'in', listed(transaction, keyIds))
    .execute()
}
