import { sql, type Kysely } from 'kysely'
import { clocksDifferMaxMs } from '../core/resilience/deadline.ts'
import { pricingText, femtoUsd, onefold } from '../core/money/pricing.ts'
import { listed } from '../storage/sql-dialect.ts'
import { hasEnded } from '../storage/process-name.ts'
import type { Store, StoreStatement } from '../storage/store.ts'
import type { ReservationsTable, Tables } from '../storage/tables.ts'
import type { Budgets } from './budgets.ts'
import { sweepAgain, type Sweep } from './sweep.ts'

type Options = {
  store: Pick<Store, 'db' | 'commit'>
  budgets: Pick<Budgets, 'held' | 'doubtful'>
  clock: () => number
  intervalMs?: number
  /** A call was charged as it was held, since its process died. */
  onAbandoned: (reservation: ReservationsTable) => void
  /** Told of each look, and of why one failed: it frees nothing, and the next is soon. */
  onSwept: (error?: unknown) => void
}

/** Bounds how long the call of a dead process stays uncharged. */
const sweepMs = 10_000

/**
 * Charges calls that can be under way no more, since their process died, as they were held: at once where
 * that is known, as of another one on this machine, else when they have expired. A clock that
 * jumps ends nothing that is used: what has expired is ended at the second look that finds it so,
 * and each process renews its own at the first. What others have dated has expired when it has by
 * their clocks for certain.
 */
export function sweepReservations(options: Options): Sweep {
  const { store, budgets, clock, intervalMs = sweepMs, onAbandoned, onSwept } = options
  let seen = new Map<string, number>()

  const charge = async (dead: readonly ReservationsTable[]) => {
    const sorted = dead.toSorted((a, b) => (a.request_id < b.request_id ? -1 : 1))
    const statements = sorted.flatMap((one) => chargeOf(store.db, one))
    const changes = await store.commit(statements)
    for (const [index, one] of sorted.entries()) {
      if (changes[2 * index]! + changes[2 * index + 1]! > 0) onAbandoned(one)
    }
  }
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
    await charge(abandoned)
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
    const reservations = store.db.selectFrom('reservations').selectAll()
    await charge(await reservations.where('process', 'in', listed(store.db, ended)).execute())
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

/**
 * Two statements: the row of a call whose end is not known, at what it held, unless it has one; its triggers
 * end the reservation. Then the end of one that an older version made, of which no row can be made.
 */
function chargeOf(db: Kysely<Tables>, held: ReservationsTable): StoreStatement[] {
  const { request_id: id, expires_at: expiresAt, nano_usd: nanoUsd } = held
  const pricing = pricingText({ prices: { held: femtoUsd(nanoUsd) }, multiplier: onefold })
  // Its process may have ended or renewed it meanwhile.
  const row = sql`
    insert into usage (id, at, account_id, key_id, mode, face, modality, model, outcome, cache,
      input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, images,
      cost_nano_usd, cost_status, pricing, attempts, duration_ms)
    select request_id, at, account_id, key_id, 'live', face, modality, model, 'unknown', 'miss',
      0, 0, 0, 0, 0, nano_usd, 'unknown', ${pricing}, '[]', 0
    from reservations
    where request_id = ${id} and expires_at = ${expiresAt} and model is not null
    on conflict do nothing`
  const end = db
    .deleteFrom('reservations')
    .where('request_id', '=', id)
    .where('expires_at', '=', expiresAt)
  return [row.compile(db), end.compile()]
}

function among(db: Kysely<Tables>, reservations: readonly ReservationsTable[]) {
  return listed(
    db,
    reservations.map((one) => one.request_id),
  )
}
