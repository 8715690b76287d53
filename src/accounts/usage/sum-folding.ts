import { sql, type Kysely } from 'kysely'
import { foldDeltas, sumNextHour } from '../../storage/fold-deltas.ts'
import { locks } from '../../storage/postgres.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables } from '../../storage/tables.ts'
import { sweepAgain } from '../sweep.ts'
import { hourMs } from './range.ts'

type Options = {
  store: Pick<Store, 'db' | 'dialect'>
  clock: () => number
  onSwept: (error?: unknown) => void
}

const intervalMs = 1000
/** Time in which a look adds hours to days and months, one in each transaction, so that calls can commit between them. */
const summingMs = 200
/** Waiting deltas are counted up to this number. */
const countedMax = 100_000

export type SumFolding = ReturnType<typeof createSumFolding>

/**
 * Each second, in one process at a time: folds the deltas of the ledger into its hourly sums, and adds hours that are over
 * to the sums of days and months (docs/storage.md#reports). With SQLite the triggers add to the hours themselves.
 */
export function createSumFolding({ store: { db, dialect }, clock, onSwept }: Options) {
  let waiting = 0
  let summedTo = 0
  const inTurn = <T>(work: (within: Kysely<Tables>) => Promise<T>): Promise<T | undefined> =>
    // With an isolation level, since PostgreSQL's transactions without one exclude each other.
    db
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (within) =>
        dialect === 'sqlite' || (await isOurs(within)) ? work(within) : undefined,
      )
  const look = async (): Promise<boolean> => {
    if (dialect === 'postgres') {
      await inTurn(foldDeltas)
      waiting = await count(db)
    }
    const until = Math.floor(clock() / hourMs) * hourMs
    const endsAt = performance.now() + summingMs
    while (summedTo < until && performance.now() < endsAt) {
      const end = await inTurn((within) => sumNextHour(within, until))
      if (end === undefined) return false
      summedTo = end
    }
    return true
  }
  return {
    ...sweepAgain(look, { intervalMs, onSwept }),
    /** Deltas that were not folded at the last look. */
    waiting: () => waiting,
  }
}

/** Acquires a lock until the end of the transaction, whose later statements see what the previous holder committed. */
async function isOurs(within: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(locks.fold)}) as is`.execute(within)
  return rows[0]!.is
}

async function count(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`select count(*) as count
    from (select from usage_deltas limit ${sql.lit(countedMax)}) as counted`.execute(db)
  return Number(rows[0]!.count)
}
