import { sql, type Kysely } from 'kysely'
import type { RecentAttempts, TimedAttempt } from '../../core/attempt-measures.ts'
import { GatewayError } from '../../core/error.ts'
import type { Attempt } from '../../core/resilience/failover.ts'
import type { Reader } from '../../storage/reader.ts'
import type { Tables } from '../../storage/tables.ts'
import { hourMs } from './range.ts'
import { rangeText } from './report.ts'

type Options = { reader: Reader; clock: () => number; monotonic: () => number }

/** Maximum of calls and of accounts that are read: the calls and accounts that were active last. */
const callsMax = 5000
const accountsMax = 100
/** How long a result is cached. */
const freshMs = 10_000
/** Takes the place of an account id: the report covers all accounts. */
const allAccounts = 'everybody'

/**
 * The attempts of the last hour in the ledger, which all processes share; undefined while the reader is
 * unavailable. The cost is independent of the ledger's size: the primary key gives the last call of each
 * account, then a bounded number of calls.
 */
export function createRecentAttempts({
  reader,
  clock,
  monotonic,
}: Options): () => Promise<RecentAttempts | undefined> {
  let cached: { until: number; recent: Promise<RecentAttempts | undefined> } | undefined
  const look = async (): Promise<RecentAttempts | undefined> => {
    try {
      const end = reader.begin(allAccounts)
      return await read(reader.db, clock()).finally(end)
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }
  return () => {
    if (cached === undefined || monotonic() >= cached.until) {
      const recent = look()
      cached = { until: monotonic() + freshMs, recent }
      recent.catch(() => (cached = undefined))
    }
    return cached.recent
  }
}

async function read(db: Kysely<Tables>, now: number): Promise<RecentAttempts> {
  const range = { from: now - hourMs, to: now }
  const accounts = await accountsSince(db, range.from)
  const share = Math.floor(callsMax / Math.max(accounts.length, 1))
  const rows = accounts.length === 0 ? [] : await latestCalls(db, { ...range, accounts, share })
  const byAccount = Map.groupBy(rows, ({ account_id: id }) => id)
  const most = Math.max(0, ...[...byAccount.values()].map(({ length }) => length))
  const live = rows.filter(({ mode }) => mode === 'live')
  const isWhole = accounts.length < accountsMax && most < share
  return {
    measured: { ...rangeText(range), calls: live.length, is_whole: isWhole },
    attempts: live.flatMap(timedAttempts),
  }
}

/** The accounts with calls since a time, the latest caller first. */
async function accountsSince(db: Kysely<Tables>, from: number): Promise<string[]> {
  // The subquery finds each account's last call by one index look-up; a join would scan the calls.
  const { rows } = await sql<{ id: string }>`
    select id from (
      select id, (
        select at from usage where account_id = accounts.id order by at desc limit 1
      ) as last_at
      from accounts
    ) as known
    where last_at >= ${from} order by last_at desc limit ${accountsMax}`.execute(db)
  return rows.map(({ id }) => id)
}

type Row = { account_id: string; at: number; mode: string; attempts: string }
type AttemptsQuery = { from: number; to: number; accounts: readonly string[]; share: number }

async function latestCalls(
  db: Kysely<Tables>,
  { from, accounts, share }: AttemptsQuery,
): Promise<Row[]> {
  const parts = accounts.map(
    (id) => sql`select * from (
      select account_id, at, mode, attempts from usage
      where account_id = ${id} and at >= ${from} order by at desc limit ${share}
    ) as latest`,
  )
  const { rows } = await sql<Row>`${sql.join(parts, sql` union all `)}`.execute(db)
  return rows
}

function timedAttempts({ at, attempts }: Row): TimedAttempt[] {
  // The ledger writes this column as a list of attempts.
  return (JSON.parse(attempts) as Attempt[]).map((attempt) => ({ ...attempt, at }))
}
