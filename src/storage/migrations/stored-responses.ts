import type { Kysely } from 'kysely'
import { bytesType, type SqlDialect } from '../sql-dialect.ts'

/** The time at which the process of a response in progress has ended it. */
export async function addRunningResponses(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('stored_responses').addColumn('runs_until', 'bigint').execute()
}

/** Stored responses of the Responses API, encrypted, and the index of their items. */
export async function createStoredResponses(
  db: Kysely<unknown>,
  dialect: SqlDialect,
): Promise<void> {
  await db.schema
    .createTable('stored_responses')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('text_bytes', 'bigint', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('encryption_key_id', 'text', (column) => column.notNull())
    .addColumn('ciphertext', bytesType(dialect), (column) => column.notNull())
    .execute()
  // Has all columns that the size of an account is computed from, so that no content is read.
  await db.schema
    .createIndex('stored_responses_account')
    .on('stored_responses')
    .columns(['account_id', 'created_at', 'id', 'size_bytes'])
    .execute()
  await db.schema
    .createIndex('stored_responses_expires_at')
    .on('stored_responses')
    .column('expires_at')
    .execute()
  await db.schema
    .createTable('stored_response_items')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('item_id', 'text', (column) => column.notNull())
    .addColumn('response_id', 'text', (column) => column.notNull())
    .addColumn('latest_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('stored_response_items_key', ['account_id', 'mode', 'item_id'])
    .execute()
  for (const column of ['response_id', 'latest_id'])
    await db.schema
      .createIndex(`stored_response_items_${column}`)
      .on('stored_response_items')
      .column(column)
      .execute()
}
