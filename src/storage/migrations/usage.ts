import { sql, type Kysely } from 'kysely'
import { timeDiffersFromId } from '../request-place.ts'
import type { SqlDialect } from '../sql-dialect.ts'
import { addUsageSavings } from './usage-hours.ts'

export async function createAccountsKeysUsage(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('allowed_models', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute()
  await createUsage(db).addPrimaryKeyConstraint('usage_id', ['id']).execute()
  await db.schema
    .createIndex('usage_account_at')
    .on('usage')
    .columns(['account_id', 'at'])
    .execute()
}

/** Stores rows in the order in which reports read them; a commit then changes half as many pages. */
export async function sortUsage(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  await db.schema.alterTable('usage').renameTo('usage_by_id').execute()
  await db.schema.dropIndex('usage_account_at').execute()
  const table = createUsage(db).addPrimaryKeyConstraint('usage_key', ['account_id', 'at', 'id'])
  // PostgreSQL cannot store a table in key order.
  await (dialect === 'sqlite' ? table.modifyEnd(sql`without rowid`) : table).execute()
  await sql`insert into usage select * from usage_by_id`.execute(db)
  await db.schema.dropTable('usage_by_id').execute()
}

/** The table of migrations 0001 and 0002; do not change it, but add a migration. */
function createUsage(db: Kysely<unknown>) {
  return db.schema
    .createTable('usage')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('face', 'text', (column) => column.notNull())
    .addColumn('modality', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('provider', 'text')
    .addColumn('upstream_model', 'text')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('error_code', 'text')
    .addColumn('cache', 'text', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addColumn('reasoning_tokens', 'bigint', (column) => column.notNull())
    .addColumn('images', 'bigint', (column) => column.notNull())
    .addColumn('cost_nano_usd', 'bigint')
    .addColumn('cost_status', 'text', (column) => column.notNull())
    .addColumn('attempts', 'text', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint', (column) => column.notNull())
}

/** Adds the counts of token classes that have their own price. */
export async function addTokenClasses(db: Kysely<unknown>): Promise<void> {
  for (const column of ['cache_write_tokens', 'image_input_tokens', 'image_output_tokens']) {
    await db.schema
      .alterTable('usage')
      .addColumn(column, 'bigint', (added) => added.notNull().defaultTo(0))
      .execute()
  }
}

/** Adds the inputs of a call's price. Older rows have no `pricing`. */
export async function addUsagePricing(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  for (const column of ['audio_input_tokens', 'audio_output_tokens']) {
    await db.schema
      .alterTable('usage')
      .addColumn(column, 'bigint', (added) => added.notNull().defaultTo(0))
      .execute()
  }
  for (const column of ['served_model', 'service_tier', 'pricing']) {
    await db.schema.alterTable('usage').addColumn(column, 'text').execute()
  }
  // Failed calls are rare and often searched for; neither index contains successful calls.
  await sql`
    create index usage_error_codes on usage (account_id, error_code, at, id)
    where error_code is not null
  `.execute(db)
  await sql`
    create index usage_outcomes on usage (account_id, outcome, at, id) where outcome <> 'ok'
  `.execute(db)
  await sql`create index usage_out_of_place on usage (id) where ${timeDiffersFromId(dialect)}`.execute(
    db,
  )
}

/** Adds details for the page of a request in the dashboard. */
export async function addUsageDetails(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  for (const column of ['asked_model', 'warnings']) {
    await db.schema.alterTable('usage').addColumn(column, 'text').execute()
  }
  await addUsageSavings(db, dialect)
}
