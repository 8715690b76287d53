import { sql, type Kysely } from 'kysely'
import { foldDeltas } from '../../storage/fold-deltas.ts'
import { locks } from '../../storage/postgres.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables } from '../../storage/tables.ts'
import { sweepAgain } from '../sweep.ts'

type Options = {
  store: Pick<Store, 'db' | 'dialect'>
  onSwept: (error?: unknown) => void
}

const intervalMs = 1000
/** Waiting deltas are counted up to this number. */
const countedMax = 100_000

export type SumFolding = ReturnType<typeof createSumFolding>

/**
 * Folds the deltas of the ledger into its sums each second, in one process at a time (docs/storage.md#reports). With SQLite
 * the triggers add to the sums themselves.
 */
export function createSumFolding({ store: { db, dialect }, onSwept }: Options) {
  let waiting = 0
  const look = async (): Promise<boolean> => {
    if (dialect === 'sqlite') return false
    // With an isolation level, since transactions without one exclude each other.
    const transaction = db.transaction().setIsolationLevel('read committed')
    const isOurs = await transaction.execute(foldInTurn)
    const { rows } = await sql<{ count: number | string }>`select count(*) as count
      from (select from usage_deltas limit ${sql.lit(countedMax)}) as counted`.execute(db)
    waiting = Number(rows[0]!.count)
    return isOurs
  }
  return {
    ...sweepAgain(look, { intervalMs, onSwept }),
    /** Deltas that were not folded at the last look. */
    waiting: () => waiting,
  }
}

async function foldInTurn(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(locks.fold)}) as is`.execute(db)
  if (rows[0]!.is) await foldDeltas(db)
  return rows[0]!.is
}
