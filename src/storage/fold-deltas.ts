import { sql, type Kysely } from 'kysely'
import { folding } from './migrations/budget-leases.ts'
import { sameWindow } from './migrations/budgets.ts'
import { amounts } from './migrations/usage-deltas.ts'
import { dimensions } from './migrations/usage-hours.ts'
import { addingSums, isLate, summedName } from './migrations/usage-sums.ts'
import { sqlDialectOf, type SqlDialect } from './sql-dialect.ts'
import type { Tables } from './tables.ts'

/** Deltas of one fold, which takes a fifth of a second. */
const foldedMax = 20_000
const hourMs = 3_600_000

const key = sql.raw(dimensions.join(', '))
const columns = sql.raw([...dimensions, ...amounts].join(', '))
const totals = sql.raw(amounts.map((name) => `sum(${name})`).join(', '))
const added = sql.raw(
  amounts.map((name) => `${name} = usage_hour_sums.${name} + excluded.${name}`).join(', '),
)
const addingLate = sql.raw(
  addingSums({
    dialect: 'postgres',
    column: (name) => `folded.${name}`,
    from: 'folded cross join',
    where: isLate('folded.hour_at'),
  }),
)

const waitingWindows = `
  select owner_id, ends_at, starts_at from budget_window_sums as s
  where exists (select 1 from budget_deltas as d where ${sameWindow('d', 's')})
  order by 1, 2, 3 for update`
const lostMs = 86_400_000
/** Counts as spent what a process leased that no process has seen for a day. */
const spendingLost = `
  with lost as (
    delete from budget_leases
    where renewed_at < extract(epoch from clock_timestamp()) * 1000 - ${lostMs} returning *
  )
  insert into budget_deltas (owner_id, ends_at, starts_at, spent_nano_usd)
  select owner_id, ends_at, starts_at, nano_usd from lost`

/**
 * Moves deltas of PostgreSQL's triggers into the hourly sums and into the windows of budgets; resolves with the number of the
 * first (docs/storage.md#reports). One statement each, so that a reader finds each delta in one of both tables. Late ones
 * are also added to their day and month.
 */
export async function foldDeltas(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`
    with folded as (
      delete from usage_deltas where ctid = any (array(
        select ctid from usage_deltas limit ${sql.lit(foldedMax)}))
      returning *
    ), hours as (
      insert into usage_hour_sums (${columns})
      select ${key}, ${totals} from folded group by ${key} order by ${key}
      on conflict (${key}) do update set ${added}
    ), late as (${addingLate})
    select count(*) as count from folded`.execute(db)
  await sql.raw(spendingLost).execute(db)
  await sql.raw(folding(waitingWindows)).execute(db)
  return Number(rows[0]!.count)
}

/** The end of the hours that the sums of days and months include. */
export async function summedTo(db: Kysely<Tables>): Promise<number> {
  const made = db.selectFrom('write_checks').select('at').where('id', '=', summedName)
  return (await made.executeTakeFirst())?.at ?? 0
}

const hoursOf = { sqlite: 'usage_hours', postgres: 'usage_hour_sums' }
const modes = `(select 'live' as mode union all select 'test') as modes`

/**
 * Adds the next hour with calls before `until` to the sums of days and months. Resolves with the new end of the hours that
 * they include. No fold may run at the same time.
 */
export async function sumNextHour(db: Kysely<Tables>, until: number): Promise<number> {
  const from = await summedTo(db)
  if (from >= until) return from
  const dialect = sqlDialectOf(db)
  const hour = await firstHour(db, dialect, from)
  const isIncluded = hour === null || hour >= until
  if (!isIncluded) await sql.raw(addingHour(dialect, hour)).execute(db)
  const at = isIncluded ? until : hour + hourMs
  await db
    .insertInto('write_checks')
    .values({ id: summedName, at })
    .onConflict((one) => one.column('id').doUpdateSet({ at }))
    .execute()
  return at
}

/** The first hour with calls, by one look-up in the key for each account and mode. */
async function firstHour(db: Kysely<Tables>, dialect: SqlDialect, from: number) {
  const { rows } = await sql<{ at: number | null }>`
    select min(at) as at from (
      select (select min(hour_at) from ${sql.raw(hoursOf[dialect])} as hours
        where hours.account_id = accounts.id and hours.mode = modes.mode and hour_at >= ${from}) as at
      from accounts cross join ${sql.raw(modes)}
    ) as firsts`.execute(db)
  return rows[0]!.at
}

function addingHour(dialect: SqlDialect, hour: number): string {
  return addingSums({
    dialect,
    column: (name) => `hours.${name}`,
    from: `accounts cross join ${modes} cross join ${hoursOf[dialect]} as hours cross join`,
    where: `hours.account_id = accounts.id and hours.mode = modes.mode and hour_at = ${hour}`,
  })
}
