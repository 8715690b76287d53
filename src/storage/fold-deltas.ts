import { sql, type Kysely } from 'kysely'
import { amounts } from './migrations/usage-deltas.ts'
import { dimensions } from './migrations/usage-hours.ts'
import type { Tables } from './tables.ts'

/** Deltas of one fold, which takes a fifth of a second. */
const foldedMax = 20_000

const key = sql.raw(dimensions.join(', '))
const columns = sql.raw([...dimensions, ...amounts].join(', '))
const totals = sql.raw(amounts.map((name) => `sum(${name})`).join(', '))
const added = sql.raw(
  amounts.map((name) => `${name} = usage_hour_sums.${name} + excluded.${name}`).join(', '),
)

/**
 * Moves deltas of PostgreSQL's triggers into the hourly sums, and resolves with their number (docs/storage.md#reports). One
 * statement, so that a reader finds each delta in one of both tables.
 */
export async function foldDeltas(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`
    with folded as (
      delete from usage_deltas where ctid = any (array(
        select ctid from usage_deltas limit ${sql.lit(foldedMax)}))
      returning *
    ), sums as (
      insert into usage_hour_sums (${columns})
      select ${key}, ${totals} from folded group by ${key} order by ${key}
      on conflict (${key}) do update set ${added}
    )
    select count(*) as count from folded`.execute(db)
  return Number(rows[0]!.count)
}
