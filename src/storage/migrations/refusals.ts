import type { Kysely } from 'kysely'

/** How many calls of a key were refused in an hour, by cause. */
export async function createRefusals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('refusals')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('hour_at', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('error_code', 'text', (column) => column.notNull())
    .addColumn('calls', 'bigint', (column) => column.notNull())
    .addColumn('last_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('refusals_key', ['account_id', 'hour_at', 'key_id', 'error_code'])
    .execute()
  await db.schema.createIndex('refusals_hour').on('refusals').column('hour_at').execute()
}
