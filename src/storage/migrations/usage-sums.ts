import { sql, type Kysely } from 'kysely'
import type { SqlDialect } from '../sql-dialect.ts'
import { isProvisional } from './budgets.ts'
import { callTables } from './call-tables.ts'
import { creating, text, type Table } from './columns.ts'
import { amounts } from './usage-deltas.ts'
import { dimensionsOf, partOf } from './usage-hours.ts'

const { hour_at: time, ...columns } = callTables.usage_hours.columns
const { account_id, mode, ...others } = columns
const kept = Object.keys(others).filter((name) => !amounts.includes(name))
const key = ['account_id', 'mode', 'grain', 'starts_at', ...kept]

/** Sums of days and months, in each of three grains: all columns of `usage_hours`, without models, or without keys. */
export const sumTables = {
  usage_sums: {
    columns: { account_id, mode, grain: text, starts_at: time, ...others },
    key: { usage_sums_pkey: key },
    inKeyOrder: true,
  },
} satisfies Record<string, Table>

/** The columns that a grain does not keep; they are empty in its rows. */
const omitted = { all: [], key: ['model', 'provider'], model: ['key_id'] } as const
export type Grain = keyof typeof omitted
const grains = Object.keys(omitted).flatMap((name) => [`day_${name}`, `month_${name}`])
/** A query for the names of the grains. */
export const grainRows = grains.map((name) => `select '${name}' as grain`).join(' union all ')

/** The SQL of the start of the day or month of a time. */
export function startOf(unit: 'day' | 'month', dialect: SqlDialect, time: string): string {
  const at = `(${time})`
  if (unit === 'day') return `${at} - ${at} % 86400000`
  return dialect === 'sqlite'
    ? `1000 * cast(strftime('%s', ${at} / 1000, 'unixepoch', 'start of month') as integer)`
    : `1000 * cast(extract(epoch from date_trunc('month', to_timestamp(${at} / 1000), 'UTC')) as bigint)`
}

/** The row of `write_checks` whose time is the end of the hours that `usage_sums` includes. */
export const summedName = 'usage_sums'
const summedTo = `coalesce((select at from write_checks where id = '${summedName}'), 0)`

/** The hours of a source that `usage_sums` includes already: rows of such hours arrive late. */
export const isLate = (at: string): string => `${at} < ${summedTo}`

type Source = {
  dialect: SqlDialect
  /** The SQL of a column of an hour. */
  column: (name: string) => string
  /** The rest of the query: its tables and conditions, beside `grains`. */
  from?: string
  where?: string
}

/** The statement that adds hours to the sums of their days and months, in key order. */
export function addingSums({ dialect, column, from = '', where = 'true' }: Source): string {
  const places = key.map((name) => {
    if (name === 'grain') return 'grain'
    if (name === 'starts_at')
      return `case when grain like 'day%' then ${startOf('day', dialect, column('hour_at'))}
        else ${startOf('month', dialect, column('hour_at'))} end`
    const without = Object.entries(omitted).flatMap(([grain, names]) =>
      (names as readonly string[]).includes(name) ? [grain] : [],
    )
    if (without.length === 0) return column(name)
    return `case when grain like '%${without[0]}' then '' else ${column(name)} end`
  })
  const numbers = key.map((_, index) => index + 1).join(', ')
  const totals = amounts.map((name) => `sum(${column(name)})`)
  return `insert into usage_sums (${[...key, ...amounts].join(', ')})
    select ${[...places, ...totals].join(', ')} from ${from} (${grainRows}) as grains
    where ${where} group by ${numbers} order by ${numbers}
    on conflict (${key.join(', ')}) do update set
    ${amounts.map((name) => `${name} = usage_sums.${name} + excluded.${name}`).join(', ')}`
}

/** SQLite's triggers of late rows; PostgreSQL adds late deltas when it folds them (storage/fold-deltas.ts). */
function lateRows(row: 'new.' | 'old.'): string {
  const places = new Map(dimensionsOf(row).map((place, index) => [hourKey[index]!, place]))
  const part = (name: string) => (row === 'new.' ? partOf(row, name) : `-(${partOf(row, name)})`)
  return addingSums({ dialect: 'sqlite', column: (name) => places.get(name) ?? part(name) })
}

const hourKey = callTables.usage_hours.key.usage_hours_pkey

/** Creates the sums of days and months, and SQLite's triggers for them. */
export async function createSums(db: Kysely<unknown>, dialect: SqlDialect): Promise<void> {
  const triggers = [
    `create trigger usage_sums_add after insert on usage for each row when ${isLate('new.at')}
     begin ${lateRows('new.')}; end`,
    `create trigger usage_sums_taken_back after delete on usage for each row
     when ${isProvisional} and ${isLate('old.at')} begin ${lateRows('old.')}; end`,
  ]
  const statements = creating(dialect, 'usage_sums', sumTables.usage_sums)
  for (const statement of dialect === 'sqlite' ? [...statements, ...triggers] : statements)
    await sql.raw(statement).execute(db)
}
