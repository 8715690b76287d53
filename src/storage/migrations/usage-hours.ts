import { sql, type Kysely } from 'kysely'
import { binaryText } from '../binary-texts.ts'
import type { SqlDialect } from '../sql-dialect.ts'

const hourMs = 3_600_000

/** The key columns of the sums. The provider may be null in `usage`; key columns may not be null. */
export const dimensions = [
  'account_id',
  'mode',
  'hour_at',
  'key_id',
  'model',
  'provider',
  'face',
  'modality',
  'outcome',
] as const

/** The columns of `usage` that are summed unchanged. */
const summed = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'audio_input_tokens',
  'image_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_output_tokens',
  'image_output_tokens',
  'images',
  'duration_ms',
]

/**
 * Hourly sums of ledger rows. A trigger adds each row in the transaction that inserts it, so that the
 * sums are always exact.
 */
export async function createUsageHours(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  const sums = Object.keys(sumsOf('', summed))
  const text = dialect === 'sqlite' ? 'text' : binaryText
  const columns = [
    ...dimensions.map((name) => `${name} ${name === 'hour_at' ? 'bigint' : text} not null`),
    ...sums.map((name) => `${name} bigint not null`),
    `primary key (${dimensions.join(', ')})`,
  ]
  // PostgreSQL cannot store a table in key order.
  const order = dialect === 'sqlite' ? ' without rowid' : ''
  await sql.raw(`create table usage_hours (${columns.join(', ')})${order}`).execute(db)
  const [places, rows] = [dimensionsOf('usage.'), sumsOf('usage.', summed)]
  const totals = Object.values(rows).map((value) => `sum(${value})`)
  await sql
    .raw(
      `insert into usage_hours (${[...dimensions, ...sums].join(', ')})
       select ${[...places, ...totals].join(', ')} from usage group by ${places.join(', ')}`,
    )
    .execute(db)
  for (const statement of adding(dialect, summed)) await sql.raw(statement).execute(db)
}

/** Adds the cost saved by the cache to the ledger, to the sums and to the trigger. */
export async function addUsageSavings(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  const column = 'saved_nano_usd'
  const { schema } = db
  await schema.alterTable('usage').addColumn(column, 'bigint').execute()
  await schema
    .alterTable('usage_hours')
    .addColumn(column, 'bigint', (added) => added.notNull().defaultTo(0))
    .execute()
  await sql
    .raw(`drop trigger usage_hours_add${dialect === 'sqlite' ? '' : ' on usage'}`)
    .execute(db)
  if (dialect === 'postgres') await sql.raw('drop function usage_hours_add()').execute(db)
  for (const statement of adding(dialect, [...summed, column])) await sql.raw(statement).execute(db)
}

export function dimensionsOf(row: string): string[] {
  return dimensions.map((name) => {
    if (name === 'hour_at') return `${row}at - ${row}at % ${hourMs}`
    return name === 'provider' ? `coalesce(${row}provider, '')` : `${row}${name}`
  })
}

/** The columns of the sums, each with the SQL of a row's contribution. */
function sumsOf(row: string, columns: readonly string[]): Record<string, string> {
  return {
    calls: '1',
    cached_calls: `case when ${row}cache = 'hit' then 1 else 0 end`,
    unpriced_calls: `case when ${row}cost_nano_usd is null then 1 else 0 end`,
    cost_nano_usd: `coalesce(${row}cost_nano_usd, 0)`,
    ...Object.fromEntries(columns.map((name) => [name, valueOf(row, name)])),
  }
}

/** Of the summed columns only `saved_nano_usd` may be null. */
function valueOf(row: string, name: string): string {
  return name === 'saved_nano_usd' ? `coalesce(${row}${name}, 0)` : `${row}${name}`
}

/** The statements that create the trigger. */
function adding(dialect: SqlDialect, columns: readonly string[]): string[] {
  const names = Object.keys(sumsOf('', columns))
  const into = `insert into usage_hours (${[...dimensions, ...names].join(', ')})`
  const conflict = `
    on conflict (${dimensions.join(', ')}) do update set
    ${names.map((name) => `${name} = usage_hours.${name} + excluded.${name}`).join(', ')};`
  if (dialect === 'sqlite') {
    const values = [...dimensionsOf('new.'), ...Object.values(sumsOf('new.', columns))]
    return [
      `create trigger usage_hours_add after insert on usage for each row
       begin ${into} values (${values.join(', ')}) ${conflict} end`,
    ]
  }
  const places = dimensionsOf('added.')
  const totals = Object.values(sumsOf('added.', columns)).map((value) => `sum(${value})`)
  const numbers = places.map((_, index) => index + 1).join(', ')
  // Rows are locked in key order, so that concurrent statements cannot deadlock.
  return [
    `create function usage_hours_add() returns trigger language plpgsql as
     $$ begin
       ${into} select ${[...places, ...totals].join(', ')} from added
       group by ${numbers} order by ${numbers} ${conflict}
       return null;
     end $$`,
    `create trigger usage_hours_add after insert on usage
     referencing new table as added for each statement execute function usage_hours_add()`,
  ]
}
