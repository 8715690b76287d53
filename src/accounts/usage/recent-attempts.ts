import { sql, type Kysely } from 'kysely'
import type { RecentAttempts, TimedAttempt } from '../../core/attempt-measures.ts'
import { GatewayError } from '../../core/error.ts'
import type { Attempt } from '../../core/failover.ts'
import type { Reader } from '../../storage/reader.ts'
import type { Tables } from '../../storage/tables.ts'
import { hourMs } from './range.ts'
import { rangeText } from './report.ts'

type Options = { reader: Reader; clock: () => number; monotonic: () => number }

/** So many calls are looked at, of so many accounts: those that called last. */
const callsMax = 5000
const accountsMax = 100
/** For so long nobody reads them again. */
const freshMs = 10_000
/** Whose report it is, in the place of an account. */
const everybody = 'everybody'

/**
 * The attempts of the last hour, out of the ledger, so that they are those of all processes; undefined
 * while no report can be made. However large the ledger is, the look goes by its primary key: to
 * the last call of each account, then over a bounded number of calls.
 */
export function createRecentAttempts({
  reader,
  clock,
  monotonic,
}: Options): () => Promise<RecentAttempts | undefined> {
  let known: { until: number; recent: Promise<RecentAttempts | undefined> } | undefined
  const look = async (): Promise<RecentAttempts | undefined> => {
    try {
      const end = reader.begin(everybody)
      return await read(reader.db, clock()).finally(end)
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }
  return () => {
    if (known === undefined || monotonic() >= known.until) {
      const recent = look()
      known = { until: monotonic() + freshMs, recent }
      recent.catch(() => (known = undefined))
    }
    return known.recent
  }
}

async function read(db: Kysely<Tables>, now: number): Promise<RecentAttempts> {
  const range = { from: now - hourMs, to: now }
  const accounts = await accountsSince(db, range.from)
  const share = Math.floor(callsMax / Math.max(accounts.length, 1))
  const rows = accounts.length === 0 ? [] : await latestCalls(db, { ...range, accounts, share })
  const most = Math.max(0, ...countsOf(rows).values())
  const live = rows.filter(({ mode }) => mode === 'live')
  const isWhole = accounts.length < accountsMax && most < share
  return {
    measured: { ...rangeText(range), calls: live.length, is_whole: isWhole },
    attempts: live.flatMap(timedAttempts),
  }
}

/** The accounts that have called since then, the latest first. */
async function accountsSince(db: Kysely<Tables>, from: number): Promise<string[]> {
  // The last call of an account is one step into the primary key; a join would be planned otherwise.
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
type Asked = { from: number; to: number; accounts: readonly string[]; share: number }

/** The latest calls of each account. */
async function latestCalls(db: Kysely<Tables>, { from, accounts, share }: Asked): Promise<Row[]> {
  const parts = accounts.map(
    (id) => sql`select * from (
      select account_id, at, mode, attempts from usage
      where account_id = ${id} and at >= ${from} order by at desc limit ${share}
    ) as latest`,
  )
  const { rows } = await sql<Row>`${sql.join(parts, sql` union all `)}`.execute(db)
  return rows
}

function countsOf(rows: readonly Row[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { account_id: id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

function timedAttempts({ at, attempts }: Row): TimedAttempt[] {
  // The ledger writes the attempts of the call.
  return (JSON.parse(attempts) as Attempt[]).map((attempt) => ({ ...attempt, at }))
}
