import { sql, type Kysely } from 'kysely'

const counts = [
  'requests_per_minute',
  'tokens_per_minute',
  'images_per_minute',
  'concurrency',
  'budget_nano_usd',
] as const

/**
 * Adds limits, budgets and scopes to accounts and keys. Existing keys keep their permissions; the first
 * account becomes the operator's.
 */
export async function addAllowances(db: Kysely<unknown>): Promise<void> {
  for (const table of ['accounts', 'api_keys']) {
    for (const column of counts) {
      await db.schema.alterTable(table).addColumn(column, 'bigint').execute()
    }
    await db.schema.alterTable(table).addColumn('budget_period', 'text').execute()
  }
  await db.schema
    .alterTable('api_keys')
    .addColumn('scopes', 'text', (column) => column.notNull().defaultTo('["inference"]'))
    .execute()
  for (const column of ['allowed_addresses', 'counts_with'] as const) {
    await db.schema.alterTable('api_keys').addColumn(column, 'text').execute()
  }
  await db.schema
    .alterTable('accounts')
    .addColumn('is_operator', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`
    update accounts set is_operator = 1
    where id = (select id from accounts order by created_at, id limit 1)
  `.execute(db)
}

/** Adds the replacement and the last use of a key, and indexes in the order of lists. */
export async function addKeyRotation(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('replaced_by', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('last_used_at', 'bigint').execute()
  await db.schema
    .createIndex('api_keys_account_created_at')
    .on('api_keys')
    .columns(['account_id', 'created_at', 'id'])
    .execute()
}

/** Adds the person who created a key, to whom the usage of the key is attributed. */
export async function addKeyCreators(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('created_by', 'text').execute()
}

/** Adds the redirect host of a client, which identifies the client more reliably than its name. */
export async function addClientHosts(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('client_redirect_host', 'text').execute()
}

/** Allows at most one unrevoked session key per person, account and mode. */
export async function addSessionKeys(db: Kysely<unknown>): Promise<void> {
  await sql`
    create unique index api_keys_session on api_keys (created_by, account_id, mode)
    where kind = 'session' and revoked_at is null`.execute(db)
}
