import type { Kysely } from 'kysely'
import { clocksDifferMaxMs } from '../core/time.ts'
import { listed } from '../storage/sql-dialect.ts'
import { hasEnded } from '../storage/process-name.ts'
import type { Store } from '../storage/store.ts'
import type { ReservationsTable, Tables } from '../storage/tables.ts'
import type { Budgets } from './budgets.ts'
import { sweepAgain, type Sweep } from './sweep.ts'

type Options = {
  store: Pick<Store, 'db'>
  budgets: Pick<Budgets, 'held' | 'doubtful'>
  clock: () => number
  intervalMs: number
  /** A reservation was given back whose process died: what its call cost is not known. */
  onAbandoned: (reservation: ReservationsTable) => void
  /** Told of each look, and of why one failed: it frees nothing, and the next is soon. */
  onSwept: (error?: unknown) => void
}

/**
 * Gives back what calls hold that can be under way no more, since their process died: at once where
 * that is known, as of another one on this machine, else when they have expired. A clock that
 * jumps frees nothing that is used: what has expired is freed at the second look that finds it so,
 * and each process renews its own at the first. What others have dated has expired when it has by
 * their clocks for certain.
 */
export function sweepReservations(options: Options): Sweep {
  const { store, budgets, clock, intervalMs, onAbandoned, onSwept } = options
  let seen = new Map<string, number>()

  const sweep = async () => {
    const now = clock()
    const expired = await store.db
      .selectFrom('reservations')
      .selectAll()
      .where('expires_at', '<=', now)
      .execute()
    const own = expired.filter((one) => budgets.held.has(one.request_id))
    const others = expired.filter(
      (one) => !budgets.held.has(one.request_id) && one.expires_at <= now - clocksDifferMaxMs,
    )
    if (own.length > 0) {
      await store.db
        .updateTable('reservations')
        .set({ expires_at: now + 2 * intervalMs })
        .where('request_id', 'in', among(store.db, own))
        .execute()
    }
    const abandoned = others.filter((one) => seen.get(one.request_id) === one.expires_at)
    seen = new Map(others.map((one) => [one.request_id, one.expires_at]))
    if (abandoned.length === 0) return
    const freed = await store.db
      .deleteFrom('reservations')
      .where('request_id', 'in', among(store.db, abandoned))
      // Not what its process has renewed meanwhile.
      .where('expires_at', '<=', clock() - clocksDifferMaxMs)
      .returningAll()
      .execute()
    for (const one of freed) onAbandoned(one)
  }
  const freeEnded = async () => {
    const rows = await store.db
      .selectFrom('reservations')
      .select('process')
      .distinct()
      .where('process', 'is not', null)
      .execute()
    const ended = rows.flatMap(({ process: name }) => (name && hasEnded(name) ? name : []))
    if (ended.length === 0) return
    const freed = await store.db
      .deleteFrom('reservations')
      .where('process', 'in', listed(store.db, ended))
      .returningAll()
      .execute()
    for (const one of freed) onAbandoned(one)
  }
  const work = async () => {
    await freeEnded()
    await endDoubtful(store.db, budgets)
    await sweep()
    return true
  }
  const again = sweepAgain(work, { intervalMs, onSwept })
  void again.look()
  return again
}

/** Twice: a server that was frozen may carry out what it was asked before behind the first time. */
async function endDoubtful(
  db: Kysely<Tables>,
  { doubtful }: Pick<Budgets, 'doubtful'>,
): Promise<void> {
  const told = [...doubtful]
  if (told.length === 0) return
  const ids = listed(
    db,
    told.map(([id]) => id),
  )
  await db.deleteFrom('reservations').where('request_id', 'in', ids).execute()
  for (const [id, times] of told) {
    if (times > 0) doubtful.delete(id)
    else doubtful.set(id, times + 1)
  }
}

function among(db: Kysely<Tables>, reservations: readonly ReservationsTable[]) {
  return listed(
    db,
    reservations.map((one) => one.request_id),
  )
}
