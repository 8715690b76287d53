import { sql, type Kysely, type RawBuilder } from 'kysely'
import { clocksDifferMaxMs } from '../core/time.ts'
import {
  femtoUsd,
  multiplierOne,
  pricingText,
  unpriced,
  type Pricing,
} from '../core/money/pricing.ts'
import { listed } from '../storage/sql-dialect.ts'
import { hasEnded } from '../storage/process-name.ts'
import type { CallMark, CallMarks } from '../storage/call-marks.ts'
import type { Store, StoreStatement } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import type { Budgets } from './budgets.ts'
import { sweepAgain, type Sweep } from './sweep.ts'

type Options = {
  store: Pick<Store, 'db' | 'commit'>
  budgets: Pick<Budgets, 'reserved' | 'uncertain'>
  marks: Pick<CallMarks, 'takeLeft'>
  clock: () => number
  intervalMs: number
  /** Called for each call that is charged its reserved amount, since its process died. */
  onAbandoned: (reservation: Tables['reservations']) => void
  /** Called for each call without a reservation that got a row of unknown cost, since its process died. */
  onUnknown: (mark: CallMark) => void
  /** Called after each sweep; `error` is the reason if the sweep failed. */
  onSwept: (error?: unknown) => void
}

/**
 * Charges the calls of dead processes the amount that they reserved: at once when the process is known to have
 * ended on this machine, otherwise after the reservation expires. To survive a clock that jumps, each process
 * renews its own expired reservations at the first sweep, and reservations of other processes are charged at
 * the second sweep. Reservations of other processes count as expired later, since clocks differ. Calls without a
 * reservation have marks (storage/call-marks.ts), from which their rows are made.
 */
export function sweepReservations(options: Options): Sweep {
  const { store, budgets, marks, clock, intervalMs, onAbandoned, onUnknown, onSwept } = options
  let seen = new Map<string, number>()

  const charge = async (dead: readonly Tables['reservations'][]) => {
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
    const own = expired.filter((one) => budgets.reserved.has(one.request_id))
    const others = expired.filter(
      (one) => !budgets.reserved.has(one.request_id) && one.expires_at <= now - clocksDifferMaxMs,
    )
    if (own.length > 0) {
      const ids = own.map((one) => one.request_id)
      await store.db
        .updateTable('reservations')
        .set({ expires_at: now + 2 * intervalMs })
        .where('request_id', 'in', listed(store.db, ids))
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
  const rowsOfMarks = async (left: readonly CallMark[], name?: string) => {
    const sorted = left.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const rows = sorted.map((mark) => rowOfMark(store.db, mark))
    const leases = store.db.deleteFrom('budget_leases').where('process', '=', name ?? '')
    const changes = await store.commit([...rows, leases.compile()])
    for (const [index, mark] of sorted.entries()) if (changes[index]! > 0) onUnknown(mark)
  }
  const work = async () => {
    await freeEnded()
    await endUncertain(store.db, budgets)
    await sweep()
    await marks.takeLeft(rowsOfMarks)
    return true
  }
  const again = sweepAgain(work, { intervalMs, onSwept })
  void again.look()
  return again
}

/** Deletes each row twice: a stalled database server may execute an older insert after the first delete. */
async function endUncertain(
  db: Kysely<Tables>,
  { uncertain }: Pick<Budgets, 'uncertain'>,
): Promise<void> {
  const requests = [...uncertain]
  if (requests.length === 0) return
  const ids = listed(
    db,
    requests.map(([id]) => id),
  )
  await db.deleteFrom('reservations').where('request_id', 'in', ids).execute()
  for (const [id, times] of requests) {
    if (times > 0) uncertain.delete(id)
    else uncertain.set(id, times + 1)
  }
}

/**
 * Two statements. The first inserts a ledger row that charges the reserved amount, unless the call has a row;
 * triggers then end the reservation. The second ends a reservation of an older version, which lacks the
 * columns for a row.
 */
function chargeOf(db: Kysely<Tables>, reservation: Tables['reservations']): StoreStatement[] {
  const { request_id: id, expires_at: expiresAt, nano_usd: nanoUsd } = reservation
  // The conditions skip a reservation that its process ended or renewed in the meantime.
  const call = sql`
    select request_id as id, at, account_id, key_id, face, modality, model, nano_usd, tags
    from reservations
    where request_id = ${id} and expires_at = ${expiresAt} and model is not null`
  const end = db
    .deleteFrom('reservations')
    .where('request_id', '=', id)
    .where('expires_at', '=', expiresAt)
  return [rowOf(db, call, heldPricing(nanoUsd)), end.compile()]
}

function heldPricing(nanoUsd: number): Pricing {
  return { prices: { held: femtoUsd(nanoUsd) }, multiplier: multiplierOne }
}

/** Inserts a row of unknown cost, unless the call has a row; it is charged what it held of leased budgets. */
function rowOfMark(db: Kysely<Tables>, mark: CallMark): StoreStatement {
  const { at, nano_usd: held, ...texts } = mark
  const columns = Object.entries(texts).map(
    ([name, text]) => sql`cast(${text} as text) as ${sql.ref(name)}`,
  )
  const call = sql`
    select ${sql.join(columns)}, cast(${at} as bigint) as at, cast(${held ?? null} as bigint) as nano_usd,
      cast(null as text) as tags`
  return rowOf(db, call, held === undefined ? unpriced : heldPricing(held))
}

/** Inserts the row of a call whose process died, unless the call has a row; `call` selects what is known of it. */
function rowOf(db: Kysely<Tables>, call: RawBuilder<unknown>, pricing: Pricing): StoreStatement {
  return sql`
    insert into usage (id, at, account_id, key_id, mode, face, modality, model, outcome, cache,
      input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, images,
      cost_nano_usd, cost_status, pricing, attempts, duration_ms, tags)
    select id, at, account_id, key_id, 'live', face, modality, model, 'unknown', 'miss',
      0, 0, 0, 0, 0, nano_usd, 'unknown', ${pricingText(pricing)}, '[]', 0, tags
    from (${call}) as dead
    where true
    on conflict do nothing`.compile(db)
}
