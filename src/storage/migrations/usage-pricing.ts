import { sql, type Kysely } from 'kysely'
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
  await sql`
    create index usage_failures on usage (account_id, at, id) where error_code is not null
  `.execute(db)
  await sql`create index usage_out_of_place on usage (id) where ${outOfPlace(dialect)}`.execute(db)
}

/**
 * Whether a row is not where its id says: an id begins with its time, in hexadecimal milliseconds,
 * and nearly every call begins in the same 4096 of them (the last three digits). Only the others are
 * in an index of ids, so that hardly any commit changes a page of it.
 */
export function outOfPlace(dialect: SqlDialect) {
  const time = dialect === 'sqlite' ? `printf('%012x', at)` : `lpad(to_hex(at), 12, '0')`
  return sql.raw<boolean>(`substr(id, 5, 9) <> substr(${time}, 1, 9)`)
}
