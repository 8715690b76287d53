import { sql, type Kysely } from 'kysely'
import { listed } from '../storage/sql-dialect.ts'
import type { StoredResponsesTable } from '../storage/response-tables.ts'
import type { Store } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'

/** Rows that one transaction removes: few enough not to delay other queries. */
export const removedRowsMax = 50
/** Larger content is compressed, and written, outside of the event loop. */
export const largeBytes = 16 * 1024

/** Inserts a response and its items in one transaction. */
export async function insertResponse(
  store: Pick<Store, 'db' | 'commit'>,
  row: StoredResponsesTable,
  items: readonly string[],
): Promise<void> {
  const { db } = store
  const { id, account_id: accountId, mode } = row
  const statements = [
    db.insertInto('stored_responses').values(row).compile(),
    sql`insert into stored_response_items (account_id, mode, item_id, response_id, latest_id)
      select ${accountId}, ${mode}, item.*, ${id}, ${id} from ${listed(db, items)} as item where true
      on conflict (account_id, mode, item_id) do update set latest_id = excluded.latest_id`.compile(
      db,
    ),
  ]
  if (row.ciphertext.length < largeBytes) return void (await store.commit(statements))
  // `commit` may write on the event loop.
  await db.transaction().execute(async (transaction) => {
    for (const statement of statements) await transaction.executeQuery(statement)
  })
}

/** Removes responses, in batches that `next` selects. */
export async function removeResponses(
  store: Pick<Store, 'db' | 'commit'>,
  next: () => Promise<{ id: string }[]>,
): Promise<void> {
  for (;;) {
    const rows = await next()
    if (rows.length === 0) return
    await store.commit(
      removal(
        store.db,
        rows.map(({ id }) => id),
      ),
    )
  }
}

/** Statements of one transaction; an item whose response is removed stays if another response has a copy. */
export function removal(db: Kysely<Tables>, ids: readonly string[]) {
  const removed = listed(db, ids)
  const items = db.updateTable('stored_response_items')
  return [
    db
      .deleteFrom('stored_response_items')
      .where('response_id', 'in', removed)
      .where('latest_id', 'in', removed)
      .compile(),
    items
      .set(({ ref }) => ({ latest_id: ref('response_id') }))
      .where('latest_id', 'in', removed)
      .compile(),
    items
      .set(({ ref }) => ({ response_id: ref('latest_id') }))
      .where('response_id', 'in', removed)
      .compile(),
    db.deleteFrom('stored_responses').where('id', 'in', removed).compile(),
  ]
}

/** The oldest responses of an account, beyond the newest ones that fit into `bytesMax`. */
export async function excessResponses(
  db: Kysely<Tables>,
  accountId: string,
  bytesMax: number,
): Promise<{ id: string }[]> {
  const { rows } = await sql<{ id: string }>`select id from (
      select id, created_at, sum(size_bytes) over (order by created_at desc, id desc) as total
      from stored_responses where account_id = ${accountId}
    ) as sums where total > ${bytesMax} order by created_at, id limit ${removedRowsMax}`.execute(db)
  return rows
}
