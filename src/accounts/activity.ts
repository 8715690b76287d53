import { sql, type Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import { moneySumOf } from '../core/money/price.ts'
import type { Reader } from '../storage/reader.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { Tables } from '../storage/tables.ts'
import { inState } from './key-list.ts'
import { timeText } from './key-form.ts'

type Schemas = components['schemas']
type Account = Schemas['Account']
type Activity = Schemas['AccountActivity']

type Options = {
  reader: Pick<Reader, 'db'>
  clock: () => number
}

/** Members, keys, calls and costs of accounts in this UTC month, in the order of the accounts. */
export type ActivitiesOf = (accounts: readonly Account[]) => Promise<Activity[]>

export function createActivities({ reader: { db }, clock }: Options): ActivitiesOf {
  return async (accounts) => {
    const now = clock()
    const ids = accounts.map(({ id }) => id)
    const date = new Date(now)
    const since = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
    const [calls, members, keys] = await Promise.all([
      callsOf(db, ids, since),
      membersOf(db, ids),
      keysOf(db, ids, now),
    ])
    return ids.map((id) => ({
      since: timeText(since),
      calls: calls.get(id)?.calls ?? 0,
      failed_calls: calls.get(id)?.failed_calls ?? 0,
      spent: moneySumOf(BigInt(calls.get(id)?.cost ?? 0)),
      members: members.get(id) ?? 0,
      keys: keys.get(id) ?? 0,
    }))
  }
}

type Sums = { account_id: string; calls: number; failed_calls: number; cost: string }

/** Sums of `usage_hours`. A cost is decimal text, since it may exceed Number.MAX_SAFE_INTEGER. */
async function callsOf(
  db: Kysely<Tables>,
  ids: readonly string[],
  since: number,
): Promise<Map<string, Sums>> {
  const { rows } = await sql<Sums>`
    select account_id, cast(sum(calls) as bigint) as calls,
      cast(sum(case when outcome = 'failed' then calls else 0 end) as bigint) as failed_calls,
      cast(sum(cost_nano_usd) as text) as cost
    from usage_hours
    where account_id in ${listed(db, ids)} and mode = 'live' and hour_at >= ${since}
    group by account_id`.execute(db)
  return new Map(rows.map((row) => [row.account_id, row]))
}

type Count = { account_id: string; count: number | string }

async function membersOf(db: Kysely<Tables>, ids: readonly string[]) {
  const rows = await db
    .selectFrom('members')
    .select((one) => ['account_id', one.fn.countAll<number>().as('count')] as const)
    .where('account_id', 'in', listed(db, ids))
    .groupBy('account_id')
    .execute()
  return countsOf(rows)
}

async function keysOf(db: Kysely<Tables>, ids: readonly string[], now: number) {
  const rows = await inState(db.selectFrom('api_keys'), 'active', now)
    .select((one) => ['account_id', one.fn.countAll<number>().as('count')] as const)
    .where('account_id', 'in', listed(db, ids))
    .where('kind', '=', 'key')
    .groupBy('account_id')
    .execute()
  return countsOf(rows)
}

function countsOf(rows: readonly Count[]): Map<string, number> {
  return new Map(rows.map(({ account_id: id, count }) => [id, Number(count)]))
}
