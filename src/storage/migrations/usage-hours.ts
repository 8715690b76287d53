import type { SqlDialect } from '../sql-dialect.ts'
import { callTables } from './call-tables.ts'

const hourMs = 3_600_000

const { columns, key } = callTables.usage_hours

/** The key columns of the sums. */
export const dimensions: readonly string[] = key.usage_hours_pkey

/** The SQL of a ledger row's key columns; `row` is the name of the row and a dot. */
export function dimensionsOf(row: string): string[] {
  return dimensions.map((name) => {
    if (name === 'hour_at') return `${row}at - ${row}at % ${hourMs}`
    // The provider may be null in `usage`; key columns may not.
    return name === 'provider' ? `coalesce(${row}provider, '')` : `${row}${name}`
  })
}

/** The SQL of a ledger row's part of a sum. */
export function partOf(row: string, column: string): string {
  if (column === 'calls') return '1'
  if (column === 'cached_calls') return `case when ${row}cache = 'hit' then 1 else 0 end`
  if (column === 'unpriced_calls') return `case when ${row}cost_nano_usd is null then 1 else 0 end`
  return column.endsWith('_nano_usd') ? `coalesce(${row}${column}, 0)` : `${row}${column}`
}

/**
 * The statements that create the trigger of the hourly sums. It adds each ledger row in the transaction that
 * inserts the row, so that the sums are always exact. A migration that adds a sum drops the trigger, and
 * creates it with the names of all columns.
 */
export function addingHours(
  dialect: SqlDialect,
  names: readonly string[] = Object.keys(columns),
): string[] {
  const sums = names.filter((name) => !dimensions.includes(name))
  const into = `insert into usage_hours (${[...dimensions, ...sums].join(', ')})`
  const conflict = `
    on conflict (${dimensions.join(', ')}) do update set
    ${sums.map((name) => `${name} = usage_hours.${name} + excluded.${name}`).join(', ')};`
  if (dialect === 'sqlite') {
    const values = [...dimensionsOf('new.'), ...sums.map((name) => partOf('new.', name))]
    return [
      `create trigger usage_hours_add after insert on usage for each row
       begin ${into} values (${values.join(', ')}) ${conflict} end`,
    ]
  }
  // Rows are locked in key order, so that concurrent statements cannot deadlock.
  const numbers = dimensions.map((_, index) => index + 1).join(', ')
  return [
    addingRows(`${into} ${sumsOfAdded(sums)} order by ${numbers} ${conflict}`),
    `create trigger usage_hours_add after insert on usage
     referencing new table as added for each statement execute function usage_hours_add()`,
  ]
}

/** The query for the sums of the rows that a statement of PostgreSQL has added. */
export function sumsOfAdded(sums: readonly string[]): string {
  const totals = sums.map((name) => `sum(${partOf('added.', name)})`)
  const numbers = dimensions.map((_, index) => index + 1).join(', ')
  return `select ${[...dimensionsOf('added.'), ...totals].join(', ')} from added group by ${numbers}`
}

/** PostgreSQL's function of the trigger of new rows. */
export function addingRows(statement: string): string {
  return `create or replace function usage_hours_add() returns trigger language plpgsql as
     $$ begin ${statement} return null; end $$`
}
