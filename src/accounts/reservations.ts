import { sql } from 'kysely'
import { tagsMax } from '../core/limits.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { StoreStatement } from '../storage/store.ts'
import type { Tables } from '../storage/tables.ts'
import type { OwnedWindow } from './spendings.ts'

export type ReservingStore = Pick<
  GuardedStore,
  'db' | 'dialect' | 'insertions' | 'commit' | 'decide'
>

/** A requested reservation: its row, and the budgets it counts against. */
export type ReservationRequest = {
  row: Tables['reservations']
  owners: readonly OwnedWindow[]
}

/**
 * Reservations in a store, which decides each group in one transaction. Both functions throw a GatewayError
 * when the store fails.
 */
export function createReservations(store: ReservingStore) {
  const { db, dialect, commit, decide } = store
  const ending = (requestId: string): StoreStatement =>
    db.deleteFrom('reservations').where('request_id', '=', requestId).compile()
  return {
    /** Returns for each request whether it was granted: its windows exist and have enough money left. */
    grant: (requests: readonly ReservationRequest[]) =>
      decide(() => (dialect === 'sqlite' ? grantEach(store, requests) : grantAll(store, requests))),
    end: async (requestIds: readonly string[]) => {
      const sorted = requestIds.toSorted()
      await decide(() => commit(sorted.map(ending)))
      return requestIds.map(() => undefined)
    },
  }
}

const windowHolds = `exists (
  select 1 from budget_windows
  where owner_id = ? and ends_at = ? and starts_at = ? and spent_nano_usd + reserved_nano_usd <= ?)`

/** The most windows of a call: of its account, key and person, and of each of its tags. */
const windowsMax = 3 + tagsMax

/**
 * Inserts a reservation if its windows exist and have enough money left; by the number of windows. The
 * conditions are added: SQLite 3.54 would plan a statement with `and` between them anew at each run, which takes 11 µs.
 */
const reservationSql: readonly string[] = Array.from({ length: windowsMax + 1 }, (_, count) => {
  const conditions = Array.from({ length: count }, () => windowHolds)
  return `
    insert into reservations (
      request_id, account_id, key_id, nano_usd, at, expires_at, process, face, modality, model, tags)
    select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where ${conditions.join(' + ') || '0'} = ${count}`
})

/** Runs one statement per call, under SQLite's write lock. */
async function grantEach({ commit }: ReservingStore, requests: readonly ReservationRequest[]) {
  const changes = await commit(requests.map(statementOf))
  return changes.map((count) => count === 1)
}

function statementOf({ row, owners }: ReservationRequest): StoreStatement {
  const { request_id, account_id, key_id, nano_usd, at, expires_at, process } = row
  const { face, modality, model, tags } = row
  const conditions = owners.flatMap(({ ownerId, window: { startsAt, endsAt }, budget }) => [
    ownerId,
    endsAt,
    startsAt,
    budget.nanoUsd - nano_usd,
  ])
  const columns = [request_id, account_id, key_id, nano_usd, at, expires_at, process]
  const parameters = [...columns, face, modality, model, tags, ...conditions]
  return { sql: reservationSql[owners.length]!, parameters }
}

/** Runs one statement, which first locks all windows (storage/migrations/budgets.ts). */
async function grantAll({ db }: ReservingStore, requests: readonly ReservationRequest[]) {
  const { rows } = await sql<{ granted: number[] }>`
    select budgets_reserve(${JSON.stringify(requests.map(toAsked))}) as granted
  `.execute(db)
  return rows[0]!.granted.map((count) => count === 1)
}

function toAsked({ row, owners }: ReservationRequest) {
  return {
    ...row,
    windows: owners.map(({ ownerId, window, budget }) => ({
      owner_id: ownerId,
      starts_at: window.startsAt,
      ends_at: window.endsAt,
      // The highest sum of spent and reserved money that leaves enough for this call.
      nano_usd: budget.nanoUsd - row.nano_usd,
    })),
  }
}
