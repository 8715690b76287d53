import { sql, type Kysely } from 'kysely'
import { amounts } from '../migrations/usage-deltas.ts'
import { dimensions, dimensionsOf, partOf } from '../migrations/usage-hours.ts'
import type { Tables } from '../tables.ts'

/** The start of the UTC month that contains a time, or of a month `months` later. */
export function monthStart(at: number, months = 0): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months)
}

/** The hourly sums of archived calls, which are the sums without the rows that are still there; a page for each month. */
export async function* archivedSums(db: Kysely<Tables>): AsyncGenerator<Record<string, unknown>[]> {
  const months = await db
    .selectFrom('usage_archives')
    .select(['account_id', 'mode', 'month_at'])
    .orderBy('account_id')
    .orderBy('mode')
    .orderBy('month_at')
    .execute()
  const [hourColumns, rowColumns] = [
    [...dimensions, ...amounts],
    [...dimensionsOf('usage.'), ...amounts.map((name) => `-(${partOf('usage.', name)})`)],
  ].map((columns) => sql.raw(columns.join(', ')))
  const names = sql.raw(dimensions.join(', '))
  const totals = sql.raw(
    amounts.map((name) => `cast(sum(${name}) as bigint) as ${name}`).join(', '),
  )
  for (const { account_id: account, mode, month_at: from } of months) {
    const within = sql`account_id = ${account} and mode = ${mode}`
    const to = monthStart(from, 1)
    const { rows } = await sql<Record<string, unknown>>`
      select ${names}, ${totals} from (
        select ${hourColumns} from usage_hours
        where ${within} and hour_at >= ${from} and hour_at < ${to}
        union all select ${rowColumns} from usage where ${within} and at >= ${from} and at < ${to}
      ) as parts group by ${names} having sum(calls) <> 0`.execute(db)
    if (rows.length > 0) yield rows
  }
}
