import { sql, type Kysely } from 'kysely'

const counts = [
  'requests_per_minute',
  'tokens_per_minute',
  'images_per_minute',
  'concurrency',
  'budget_nano_usd',
] as const

/**
 * What accounts and keys may use, spend and do. The keys that are there may do what they could; the
 * first account is that of those who run the gateway.
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

/** What replaces a key and when it was last used; keys in the order in which lists read them. */
export async function addKeyRotation(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('replaced_by', 'text').execute()
  await db.schema.alterTable('api_keys').addColumn('last_used_at', 'bigint').execute()
  await db.schema
    .createIndex('api_keys_account_created_at')
    .on('api_keys')
    .columns(['account_id', 'created_at', 'id'])
    .execute()
}

/** The person for whom a key was made, so that its usage is theirs. */
export async function addKeyCreators(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('created_by', 'text').execute()
}

/** The host that people were sent back to, by which they know a client better than by its name. */
export async function addClientHosts(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('client_redirect_host', 'text').execute()
}

/** Of the keys that a person has for sessions in an account, one of each mode is not revoked. */
export async function addSessionKeys(db: Kysely<unknown>): Promise<void> {
  await sql`
    create unique index api_keys_session on api_keys (created_by, account_id, mode)
    where kind = 'session' and revoked_at is null`.execute(db)
}
