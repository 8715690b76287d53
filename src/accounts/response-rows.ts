import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { StoredItem, StoredResponse } from '../core/stored-responses.ts'
import { processName } from '../storage/process-name.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { StoredResponsesTable, Tables } from '../storage/tables.ts'
import type { Store } from '../storage/store.ts'
import { ending } from './background-rows.ts'
import { publishing, type WebhookEvent } from './webhooks/publishing.ts'

/** Rows that one transaction removes: few enough not to delay other queries. */
export const removedRowsMax = 50
/** Larger content is compressed, and written, outside of the event loop. */
const largeBytes = 16 * 1024

/** Inserts a response and its items in one transaction. */
export async function insertResponse(
  store: Pick<Store, 'db' | 'commit'>,
  row: StoredResponsesTable,
  items: IndexedItems,
): Promise<void> {
  const { db } = store
  const statements = [
    db.insertInto('stored_responses').values(row).compile(),
    indexing(db, row, items).compile(db),
  ]
  await store.commit(statements, { isLarge: isLarge(row) })
}

const isLarge = ({ ciphertext }: Pick<StoredResponsesTable, 'ciphertext'>) =>
  ciphertext.length >= largeBytes

/** The content of a response, and the columns that it is bound to. */
export type SealedRow = Omit<
  StoredResponsesTable,
  'created_at' | 'expires_at' | 'key_id' | 'runs_until' | 'owner'
>

type End = {
  items: IndexedItems
  lateAt: number
  expiresAt: number
  event: WebhookEvent | undefined
  now: number
}

/**
 * Replaces a response in progress, adds its new items, and publishes its event; false if it has ended, is late or was
 * removed.
 */
export async function endResponse(
  { db, commit }: Pick<Store, 'db' | 'commit'>,
  row: SealedRow,
  { items, lateAt, expiresAt, event, now }: End,
): Promise<readonly number[]> {
  const { id, account_id: accountId, mode, ...content } = row
  const statements = ending(db, 'stored_responses', {
    // A process is never late with its own response, but its clock may have jumped ahead.
    condition: sql`id = ${id} and account_id = ${accountId} and mode = ${mode}
      and (runs_until >= ${lateAt} or owner = ${processName})`,
    columns: { ...content, expires_at: expiresAt, runs_until: null },
    follow: (isRunning) => [
      indexing(db, row, items, isRunning),
      ...(event === undefined ? [] : [publishing(event, now, isRunning)]),
    ],
  })
  return commit(statements, { isLarge: isLarge(row) })
}

/** Ends the responses in progress of a process that has ended, each with its event. */
export async function failResponses(
  { db }: Pick<Store, 'db'>,
  owner: string,
  now: number,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const failed = await transaction
      .updateTable('stored_responses')
      // A response that has ended late is shown as failed.
      .set({ runs_until: 0, owner: null })
      .where('owner', '=', owner)
      .returning(['id', 'account_id', 'mode'])
      .execute()
    for (const { id, account_id: accountId, mode } of failed) {
      const event = { accountId, mode, type: 'response.failed', objectId: id } as const
      await publishing(event, now).execute(transaction)
    }
  })
}

/** Of a longer conversation the newest items have an entry in the index. */
const indexedItemsMax = 1000
/** Ids that the gateway gives to items of the input. Those of clients have no entry, since they may occur twice. */
const givenItemId = /^[a-z]{2,6}_[0-9a-f]{32}$/

type Whole = Pick<StoredResponse, 'input' | 'response'>

/** The items of a response, the output last. */
export function itemsOf({ input, response }: Whole): StoredItem[] {
  // Each item of an output has an id.
  return [...input, ...(response.output as StoredItem[])]
}

/** Items for the index: those with a new entry, and those whose entry is updated if they have one. */
export function indexedItems({ input, response }: Whole): IndexedItems {
  const isNew = new Map(input.map(({ id }) => [id, givenItemId.test(id)]))
  // The gateway or the vendor made the ids of an output, in whatever form.
  for (const { id } of itemsOf({ input: [], response })) if (id) isNew.set(id, true)
  const newest = [...isNew].slice(-indexedItemsMax)
  const idsThat = (are: boolean) => newest.flatMap(([id, added]) => (added === are ? [id] : []))
  return { added: idsThat(true), ids: idsThat(false) }
}

/** Ids of items: `added` get an entry in the index, and an entry of `known` is updated. */
export type IndexedItems = { added: readonly string[]; ids: readonly string[] }

/** Adds items of a response to the index, in an order in which concurrent transactions lock the same rows. */
function indexing(
  db: Kysely<Tables>,
  { id, account_id: accountId, mode }: Pick<StoredResponsesTable, 'id' | 'account_id' | 'mode'>,
  { added, ids }: IndexedItems,
  condition: RawBuilder<unknown> = sql`1 = 1`,
) {
  return sql`insert into stored_response_items (account_id, mode, item_id, response_id, latest_id)
    select ${accountId}, ${mode}, item.*, ${id}, ${id} from ${listed(db, added)} as item
      where ${condition}
    union select account_id, mode, item_id, ${id}, ${id} from stored_response_items
      where account_id = ${accountId} and mode = ${mode} and item_id in ${listed(db, ids)}
        and ${condition}
    order by 3
    on conflict (account_id, mode, item_id) do update set latest_id = excluded.latest_id`
}

/** Removes responses, in batches that `next` selects. */
export async function removeResponses(
  store: Pick<Store, 'db' | 'commit'>,
  next: () => Promise<{ id: string }[]>,
): Promise<void> {
  for (;;) {
    const rows = await next()
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    await store.commit(removal(store.db, ids))
  }
}

/**
 * Statements of one transaction; an item whose response is removed stays if another response has a copy. The
 * first removes the responses, and waits for a transaction that ends one of them.
 */
export function removal(db: Kysely<Tables>, ids: readonly string[]) {
  const removed = listed(db, ids)
  const items = db.updateTable('stored_response_items')
  return [
    db.deleteFrom('stored_responses').where('id', 'in', removed).compile(),
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

/** Compresses texts to a third, several times faster than the standard level. */
const compression = { level: 1 }
const deflateLater = promisify<Buffer, object, Buffer>(deflateRaw)
const inflateLater = promisify<Buffer, object, Buffer>(inflateRaw)

/** Compresses the content of a response. */
export async function deflated(text: Buffer): Promise<Buffer> {
  const isLarge = text.length >= largeBytes
  return isLarge ? deflateLater(text, compression) : deflateRawSync(text, compression)
}

/** Decompresses the content of a response, of `textBytes`. */
export async function inflated(bytes: Buffer, textBytes: number): Promise<Buffer> {
  const limit = { maxOutputLength: textBytes }
  return textBytes >= largeBytes ? inflateLater(bytes, limit) : inflateRawSync(bytes, limit)
}
