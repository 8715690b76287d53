import { sql } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { allowancesOf, tagsMax } from '../core/limits.ts'
import { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { Reservation, Reserve } from '../core/money/upper-cost.ts'
import { processName } from '../storage/process-name.ts'
import { StoreError } from '../storage/store-error.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { StoreStatement } from '../storage/store.ts'
import { refusalOf } from './budget-errors.ts'
import { createBudgetLines, type BudgetLines, type Place } from './budget-lines.ts'
import { readStates } from './budget-states.ts'
import { createGroups, type GroupLimits } from './groups.ts'
import { tagsText } from './ledger.ts'
import {
  inWindow,
  leftOf,
  readSpendings,
  unspentOf,
  type BudgetOwner,
  type OwnedWindow,
  type Spending,
} from './spendings.ts'

type Schemas = components['schemas']
type BudgetState = Schemas['BudgetState']

export type Budgets = ReturnType<typeof createBudgets>

type Options = {
  store: ReservingStore
  clock: () => number
  limits: GroupLimits & { budgetWaitMaxMs: number }
}

/** Added to a call's deadline: at the resulting time, the call has ended or its process has died. */
const marginMs = 60_000
/** Tries of one reservation: after a refusal, another call may open a window or release money. */
const triesMax = 4
/** Maximum of `uncertain`; further reservations are not deleted explicitly but expire. */
const uncertainMax = 10_000

/** Budgets of accounts, keys, people and tags in the store (docs/storage.md#budgets). */
export function createBudgets({ store, clock, limits }: Options) {
  const { db } = store
  /** Ids of requests that this process has reserved money for. */
  const reserved = new Set<string>()
  /** Ended requests whose rows may still be in the store, with the number of attempts to delete them. */
  const uncertain = new Map<string, number>()
  const markUncertain = (requestId: string): void => {
    if (uncertain.size < uncertainMax) uncertain.set(requestId, 0)
  }
  const lines = createBudgetLines()
  const { grant, end } = createReservations(store)
  const reserveOne = createGroups(grant, limits)
  const endOne = createGroups(end, limits)

  const read = (owners: readonly OwnedWindow[]) => orOverloaded(() => readSpendings(db, owners))

  const reserve: Reserve = async ({ caller, tags, timeoutMs, signal, ...call }) => {
    const { requestId, at } = call
    const owners = ownersOf(caller, tags).map((owner) => inWindow(owner, at))
    const { accountId, keyId } = caller
    const expiresAt = clock() + timeoutMs + marginMs
    const known = { accountId, keyId, expiresAt, tags: tagsText(tags) }
    const request = { ...call, ...known, owners }
    reserved.add(requestId)
    try {
      // Counted from the start of the call, which may have waited for an identical call. Half of the time remains for the answer.
      const waitMaxMs = Math.min(limits.budgetWaitMaxMs, timeoutMs / 2) - Math.max(0, clock() - at)
      await reserveInTurn({ lines, read, reserveOne }, request, { signal, waitMaxMs })
      return reservationOf(request)
    } catch (error) {
      reserved.delete(requestId)
      // After a timeout of the store, the reservation may have been written.
      if (!isDecided(error)) markUncertain(requestId)
      throw error
    }
  }
  const reservationOf = ({ requestId, owners }: ReservationRequest): Reservation => {
    const released = () => lines.released(owners)
    return {
      settled: () => {
        reserved.delete(requestId)
        released()
      },
      release: async () => {
        reserved.delete(requestId)
        await endOne(requestId).catch(() => markUncertain(requestId))
        released()
      },
    }
  }

  /** The budget states in the current periods, in the order of the owners. */
  const states = (owners: readonly BudgetOwner[]): Promise<BudgetState[]> =>
    orOverloaded(() => readStates(db, owners, clock()))

  return {
    reserve,
    reserved,
    uncertain,
    states,
    /** The budget states of a caller's account, key and person; null without a budget. */
    statesFor: async (caller: Caller): Promise<(BudgetState | null)[]> => {
      const found = await states(ownersOf(caller))
      const of = ({ ownerId }: Allowance) => found.find((one) => one.owner_id === ownerId) ?? null
      return caller.allowances.map(of)
    },
  }
}

function ownersOf(caller: Caller, tags?: readonly string[]): BudgetOwner[] {
  const { accountId } = caller
  return allowancesOf(caller, tags).flatMap(({ ownerId, budget }) =>
    budget === null ? [] : [{ accountId, ownerId, budget }],
  )
}

type InTurn = {
  lines: BudgetLines
  read: (owners: readonly OwnedWindow[]) => Promise<Spending[]>
  reserveOne: (request: ReservationRequest) => Promise<boolean>
}

/** Resolves when the reservation is in the store; waits while only held money is in the way. */
async function reserveInTurn(
  { lines, read, reserveOne }: InTurn,
  request: ReservationRequest,
  waiter: { signal: AbortSignal; waitMaxMs: number },
): Promise<void> {
  const { owners, nanoUsd } = request
  /** The first budget whose money running calls hold. */
  const look = async () => {
    const spendings = await read(owners)
    for (const one of spendings) lines.saw(one)
    const spent = spendings.find((one) => unspentOf(one) < nanoUsd)
    if (spent !== undefined) throw refusalOf(spent, nanoUsd)
    return spendings.find((one) => leftOf(one) < nanoUsd)
  }
  const line = lines.find(owners)
  // A call that cannot enter the line reads nothing.
  let held = line && ((line.isFull ? undefined : await look()) ?? line.last)
  let place: Place | undefined
  try {
    for (let tries = 0; tries < triesMax;) {
      if (held === undefined) {
        if (await reserveOne(request)) return
        held = await look()
        // Without held money, another call has opened the window or released money.
        if (held === undefined) tries++
      } else {
        place ??= lines.enter(held, { ...waiter, nanoUsd })
        const isTurn = place?.moveTo(held) === true && (await place.turn())
        if (!isTurn) throw refusalOf(place?.last() ?? held, nanoUsd)
        held = undefined
      }
    }
    throw busy()
  } finally {
    place?.leave()
  }
}

/** Whether no reservation can be in the store: budgets refused it, or its caller left while it waited. */
function isDecided(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return error instanceof ProviderFailure
  return error.code === 'insufficient_quota' || error.code === 'rate_limit_exceeded'
}

async function orOverloaded<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof StoreError) || error.concernsStatement) throw error
    throw busy(error)
  }
}

function busy(cause?: StoreError): GatewayError {
  const text = 'The budget cannot be read at the moment. Try again in a moment.'
  return new GatewayError('overloaded', text, { cause, retryAfterSeconds: 1 })
}

type ReservingStore = Pick<GuardedStore, 'db' | 'dialect' | 'insertions' | 'commit' | 'decide'>

/** A requested reservation: the amount to reserve, and the budgets it counts against. */
type ReservationRequest = {
  requestId: string
  accountId: string
  keyId: string
  nanoUsd: number
  at: number
  expiresAt: number
  face: string
  modality: string
  model: string
  /** The tags of the call as JSON; null without tags. */
  tags: string | null
  owners: readonly OwnedWindow[]
}

/**
 * Reservations in a store, which decides each group in one transaction. Both functions throw a GatewayError
 * when the store fails.
 */
function createReservations(store: ReservingStore) {
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

function statementOf(request: ReservationRequest): StoreStatement {
  const { requestId, accountId, keyId, nanoUsd, at, expiresAt, owners } = request
  const { face, modality, model, tags } = request
  const conditions = owners.flatMap(({ ownerId, window: { startsAt, endsAt }, budget }) => [
    ownerId,
    endsAt,
    startsAt,
    budget.nanoUsd - nanoUsd,
  ])
  const columns = [requestId, accountId, keyId, nanoUsd, at, expiresAt, processName]
  const row = [...columns, face, modality, model, tags]
  const parameters = [...row, ...conditions]
  return { sql: reservationSql[owners.length]!, parameters }
}

/** Runs one statement, which first locks all windows (storage/migrations/budgets.ts). */
async function grantAll({ db }: ReservingStore, requests: readonly ReservationRequest[]) {
  const { rows } = await sql<{ granted: number[] }>`
    select budgets_reserve(${JSON.stringify(requests.map(toAsked))}) as granted
  `.execute(db)
  return rows[0]!.granted.map((count) => count === 1)
}

function toAsked({ owners, ...request }: ReservationRequest) {
  return {
    request_id: request.requestId,
    account_id: request.accountId,
    key_id: request.keyId,
    nano_usd: request.nanoUsd,
    at: request.at,
    expires_at: request.expiresAt,
    process: processName,
    face: request.face,
    modality: request.modality,
    model: request.model,
    tags: request.tags,
    windows: owners.map(({ ownerId, window, budget }) => ({
      owner_id: ownerId,
      starts_at: window.startsAt,
      ends_at: window.endsAt,
      // The highest sum of spent and reserved money that leaves enough for this call.
      nano_usd: budget.nanoUsd - request.nanoUsd,
    })),
  }
}
