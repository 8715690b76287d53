import { sql } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { usdText } from '../core/money/price.ts'
import type { Reservation, Reserve } from '../core/money/upper-cost.ts'
import { processName } from '../storage/process-name.ts'
import { StoreError } from '../storage/store-error.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { StoreStatement } from '../storage/store.ts'
import { readStates } from './budget-states.ts'
import { createGroups, type GroupLimits } from './groups.ts'
import {
  inWindow,
  leftOf,
  readSpendings,
  stateOf,
  type BudgetOwner,
  type OwnedWindow,
  type Spending,
} from './spendings.ts'

type Schemas = components['schemas']
type BudgetState = Schemas['BudgetState']

export type Budgets = ReturnType<typeof createBudgets>

type Options = { store: ReservingStore; clock: () => number; limits: GroupLimits }

/** Added to a call's deadline: at the resulting time, the call has ended or its process has died. */
const marginMs = 60_000
/** Tries of one reservation: after a refusal, another call may open a window or release money. */
const triesMax = 4
/** Maximum of `uncertain`; further reservations are not deleted explicitly but expire. */
const uncertainMax = 10_000

/** Budgets of accounts and keys in the store (docs/storage.md#budgets). */
export function createBudgets({ store, clock, limits }: Options) {
  const { db } = store
  /** Ids of requests that this process has reserved money for. */
  const reserved = new Set<string>()
  /** Ended requests whose rows may still be in the store, with the number of attempts to delete them. */
  const uncertain = new Map<string, number>()
  const markUncertain = (requestId: string): void => {
    if (uncertain.size < uncertainMax) uncertain.set(requestId, 0)
  }
  const { grant, end } = createReservations(store)
  const reserveOne = createGroups(grant, limits)
  const endOne = createGroups(end, limits)

  const read = (owners: readonly OwnedWindow[]) => orOverloaded(() => readSpendings(db, owners))

  const reserve: Reserve = async ({ caller, timeoutMs, ...call }) => {
    const { requestId, at, nanoUsd } = call
    const owners = ownersOf(caller).map((owner) => inWindow(owner, at))
    const { accountId, keyId } = caller
    const expiresAt = clock() + timeoutMs + marginMs
    const request = { ...call, accountId, keyId, expiresAt, owners }
    reserved.add(requestId)
    try {
      for (let tries = 0; tries < triesMax; tries++) {
        if (await reserveOne(request)) return reservationOf(requestId)
        const spent = (await read(owners)).find((one) => leftOf(one) < nanoUsd)
        if (spent !== undefined) throw insufficient(spent, nanoUsd)
      }
      throw busy()
    } catch (error) {
      reserved.delete(requestId)
      // After a timeout of the store, the reservation may have been written.
      const isDecided = error instanceof GatewayError && error.code === 'insufficient_quota'
      if (!isDecided) markUncertain(requestId)
      throw error
    }
  }
  const reservationOf = (requestId: string): Reservation => ({
    settled: () => void reserved.delete(requestId),
    release: async () => {
      reserved.delete(requestId)
      await endOne(requestId).catch(() => markUncertain(requestId))
    },
  })

  /** The budget states in the current periods, in the order of the owners. */
  const states = (owners: readonly BudgetOwner[]): Promise<BudgetState[]> =>
    orOverloaded(() => readStates(db, owners, clock()))

  return {
    reserve,
    reserved,
    uncertain,
    states,
    /** The budget states of a caller's account and key; null without a budget. */
    statesFor: async (caller: Caller): Promise<[BudgetState | null, BudgetState | null]> => {
      const found = await states(ownersOf(caller))
      const {
        allowances: [account, key],
      } = caller
      const of = ({ ownerId }: Allowance) => found.find((one) => one.owner_id === ownerId) ?? null
      return [of(account), of(key)]
    },
  }
}

function ownersOf({ accountId, allowances }: Caller): BudgetOwner[] {
  return allowances.flatMap(({ ownerId, budget }) =>
    budget === null ? [] : [{ accountId, ownerId, budget }],
  )
}

function insufficient(spending: Spending, nanoUsd: number): GatewayError {
  const budget = stateOf(spending)
  const { ownerId, accountId } = spending
  const whose = ownerId === accountId ? 'the account' : 'this API key'
  const { period, renews_at: renewal } = budget
  const reserved =
    spending.reserved === 0 ? '' : `, $${budget.reserved.usd} is held by calls under way`
  const per = period === 'total' ? 'in total' : `per ${period}`
  const then = renewal === null ? 'It does not renew' : `It renews at ${renewal}`
  const text =
    `The budget of ${whose} does not cover this call, which may cost up to $${usdText(nanoUsd)}: ` +
    `of $${budget.amount.usd} ${per}, $${budget.left.usd} is left${reserved}. ${then}. ` +
    'Ask for less (max_completion_tokens, n, a smaller size), choose a cheaper model, or have the budget raised.'
  return new GatewayError('insufficient_quota', text, { progress: { budget } })
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

/**
 * Inserts a reservation if its windows exist and have enough money left; by the number of windows. The two
 * conditions are added: SQLite 3.54 would plan a statement with `and` between them anew at each run, which takes 11 µs.
 */
const reservationSql: readonly string[] = [
  'true',
  windowHolds,
  `${windowHolds} + ${windowHolds} = 2`,
].map(
  (condition) => `
    insert into reservations (
      request_id, account_id, key_id, nano_usd, at, expires_at, process, face, modality, model)
    select ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where ${condition}`,
)

/** Runs one statement per call, under SQLite's write lock. */
async function grantEach({ commit }: ReservingStore, requests: readonly ReservationRequest[]) {
  const changes = await commit(requests.map(statementOf))
  return changes.map((count) => count === 1)
}

function statementOf(request: ReservationRequest): StoreStatement {
  const { requestId, accountId, keyId, nanoUsd, at, expiresAt, owners } = request
  const { face, modality, model } = request
  const conditions = owners.flatMap(({ ownerId, window: { startsAt, endsAt }, budget }) => [
    ownerId,
    endsAt,
    startsAt,
    budget.nanoUsd - nanoUsd,
  ])
  const columns = [requestId, accountId, keyId, nanoUsd, at, expiresAt, processName]
  const row = [...columns, face, modality, model]
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
    windows: owners.map(({ ownerId, window, budget }) => ({
      owner_id: ownerId,
      starts_at: window.startsAt,
      ends_at: window.endsAt,
      // The highest sum of spent and reserved money that leaves enough for this call.
      nano_usd: budget.nanoUsd - request.nanoUsd,
    })),
  }
}
