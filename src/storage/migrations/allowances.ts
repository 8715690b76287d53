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
