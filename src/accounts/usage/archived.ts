import type { Kysely } from 'kysely'
import { GatewayError } from '../../core/error.ts'
import { monthStart } from '../../storage/copies/archived-sums.ts'
import type { Tables } from '../../storage/tables.ts'
import { hourMs } from './range.ts'
import { isByTag, type Dimension, type UsageFilter } from './sums.ts'

/** The end of the months whose calls `archive` removed from the ledger of an account; undefined without any. */
async function archivedUntil(db: Kysely<Tables>, accountId: string): Promise<number | undefined> {
  const months = db.selectFrom('usage_archives').where('account_id', '=', accountId)
  const { at } = await months
    .select(({ fn }) => fn.max('month_at').as('at'))
    .executeTakeFirstOrThrow()
  return at === null ? undefined : monthStart(at, 1)
}

type Range = { accountId: string; from?: number | undefined; to?: number }

/** The time before which calls of a list are archived; null if its range does not reach there. */
export async function archivedBefore(
  db: Kysely<Tables>,
  { accountId, from = 0 }: Range,
): Promise<string | null> {
  const until = await archivedUntil(db, accountId)
  return until === undefined || from >= until ? null : new Date(until).toISOString()
}

/** Throws `invalid_value` if single calls of a range are needed which were archived. */
export async function assertInStore(
  db: Kysely<Tables>,
  { accountId, from = 0 }: Range,
  otherwise = 'export sums with GET /api/usage/export',
): Promise<void> {
  const until = await archivedBefore(db, { accountId, from })
  if (until === null) return
  const text = `Calls before ${until} were archived; the operator has their files. Set 'from' to ${until}, or ${otherwise}.`
  throw new GatewayError('invalid_value', text, { param: 'from' })
}

/** Throws `invalid_value` if a report of the range needs archived calls: for tags each, else those of partial hours. */
export function assertReportable(
  db: Kysely<Tables>,
  calls: Range & { filter: UsageFilter },
  groupBy: readonly Dimension[],
): Promise<void> {
  return isByTag(calls.filter, groupBy)
    ? assertInStore(db, calls, 'leave out the tag')
    : assertWholeHours(db, calls)
}

/** Throws `invalid_value` if a range begins or ends within an hour of archived calls, which have sums only. */
async function assertWholeHours(
  db: Kysely<Tables>,
  { accountId, from = 0, to = 0 }: Range,
): Promise<void> {
  const partial = Object.entries({ from, to }).filter(([, at]) => at % hourMs !== 0)
  if (partial.length === 0) return
  const until = await archivedUntil(db, accountId)
  const [param] = partial.find(([, at]) => until !== undefined && at < until) ?? []
  if (param === undefined) return
  const text = `Calls before ${new Date(until!).toISOString()} were archived, and their sums are hourly. Set '${param}' to a full hour.`
  throw new GatewayError('invalid_value', text, { param })
}

/** The month of a time, such as `2026-01`, if calls of the account in it were archived. */
export async function archivedMonth(
  db: Kysely<Tables>,
  accountId: string,
  at: number,
): Promise<string | undefined> {
  const month = db
    .selectFrom('usage_archives')
    .select('month_at')
    .where('account_id', '=', accountId)
  const found = await month.where('month_at', '=', monthStart(at)).executeTakeFirst()
  return found && new Date(found.month_at).toISOString().slice(0, 'yyyy-mm'.length)
}
