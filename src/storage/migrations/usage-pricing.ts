import { sql, type Kysely } from 'kysely'
import { outOfPlace } from '../request-place.ts'
import type { SqlDialect } from '../sql-dialect.ts'

/** What the price of a call was made from. Rows of before have no `pricing`. */
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
  // What failed is rare, and looked for among all others. Calls that went well are in neither index.
  await sql`
    create index usage_error_codes on usage (account_id, error_code, at, id)
    where error_code is not null
  `.execute(db)
  await sql`
    create index usage_outcomes on usage (account_id, outcome, at, id) where outcome <> 'ok'
  `.execute(db)
  await sql`create index usage_out_of_place on usage (id) where ${outOfPlace(dialect)}`.execute(db)
}
