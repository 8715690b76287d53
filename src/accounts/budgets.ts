import type { components } from '../../generated/types.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { allowancesOf } from '../core/limits.ts'
import { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { Reservation, Reserve } from '../core/money/upper-cost.ts'
import type { CallMarks } from '../storage/call-marks.ts'
import { processName } from '../storage/process-name.ts'
import { StoreError } from '../storage/store-error.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Tables } from '../storage/tables.ts'
import { refusalOf } from './budget-errors.ts'
import { createBudgetLeases } from './budget-leases.ts'
import { createBudgetLines, type BudgetLines, type Place } from './budget-lines.ts'
import { readStates } from './budget-states.ts'
import { createGroups, type GroupLimits } from './groups.ts'
import { tagsText } from './ledger.ts'
import { createReservations, type ReservationRequest, type ReservingStore } from './reservations.ts'
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
  store: ReservingStore & Pick<GuardedStore, 'insert' | 'journalRows'>
  marks?: Pick<CallMarks, 'set' | 'touch'>
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
export function createBudgets({ store, marks, clock, limits }: Options) {
  const { db } = store
  /** Ids of requests that this process has reserved money for. */
  const reserved = new Set<string>()
  /** Ended requests whose rows may still be in the store, with the number of attempts to delete them. */
  const uncertain = new Map<string, number>()
  const markUncertain = (requestId: string): void => {
    if (uncertain.size < uncertainMax) uncertain.set(requestId, 0)
  }
  const lines = createBudgetLines()
  const leases = createBudgetLeases({ store, marks })
  const { grant, end } = createReservations(store)
  const reserveOne = createGroups(grant, limits)
  const endOne = createGroups(end, limits)

  const read = (owners: readonly OwnedWindow[]) => orOverloaded(() => readSpendings(db, owners))

  const reserve: Reserve = async (charge) => {
    const { caller, tags, timeoutMs, signal, requestId, at } = charge
    const owners = ownersOf(caller, tags).map((owner) => inWindow(owner, at))
    const row = rowOf(charge, clock() + timeoutMs + marginMs)
    // A call does not pass those that wait for money.
    const end = lines.find(owners) ? undefined : leases.take(owners, row)
    const released = () => lines.released(owners)
    if (end) return leasedReservation(store, row, (cost) => (end(cost), released()))
    reserved.add(requestId)
    try {
      // Counted from the start of the call, which may have waited for an identical call. Half of the time remains for the answer.
      const waitMaxMs = Math.min(limits.budgetWaitMaxMs, timeoutMs / 2) - Math.max(0, clock() - at)
      await reserveInTurn({ lines, read, reserveOne }, { row, owners }, { signal, waitMaxMs })
      const settled = () => (reserved.delete(requestId), released())
      return {
        settle: (_cost, write) => write().finally(settled),
        release: () => endOne(requestId).then(settled, () => (markUncertain(requestId), settled())),
      }
    } catch (error) {
      reserved.delete(requestId)
      // After a timeout of the store, the reservation may have been written.
      if (!isDecided(error)) markUncertain(requestId)
      throw error
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
    leases,
    /** The budget states of a caller's account, key and person, null without a budget, and those of its tags. */
    statesFor: async (caller: Caller) => {
      const { allowances, tagBudgets = new Map<string, Allowance>() } = caller
      const found = await states(ownersOf(caller, [...tagBudgets.keys()]))
      const of = ({ ownerId }: Allowance) => found.find((one) => one.owner_id === ownerId) ?? null
      const ofTags = [...tagBudgets].map(([tag, one]) => ({ tag, budget: of(one)! }))
      return { own: allowances.map(of), ofTags }
    },
  }
}

/** The row of a reservation. */
function rowOf(charge: Parameters<Reserve>[0], expiresAt: number): Tables['reservations'] {
  const { caller, tags, requestId, at, face, modality, model, nanoUsd } = charge
  return {
    request_id: requestId,
    account_id: caller.accountId,
    key_id: caller.keyId,
    nano_usd: nanoUsd,
    at,
    expires_at: expiresAt,
    process: processName,
    face,
    modality,
    model,
    tags: tagsText(tags),
  }
}

function ownersOf(caller: Caller, tags?: readonly string[]): BudgetOwner[] {
  const { accountId } = caller
  return allowancesOf(caller, tags).flatMap(({ ownerId, budget }) =>
    budget === null ? [] : [{ accountId, ownerId, budget }],
  )
}

/** A call whose row cannot be written stays marked, and holds its money until the process ends. */
function leasedReservation(
  store: Pick<GuardedStore, 'insert'>,
  row: Tables['reservations'],
  ended: (cost: number) => void,
): Reservation {
  return {
    settle: async (cost, write) => {
      // The trigger of a row without a cost charges the amount of its reservation.
      if (cost === null) await store.insert('reservations', [row])
      await write()
      ended(cost ?? row.nano_usd)
    },
    release: async () => ended(0),
  }
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
  const { owners, row } = request
  const { nano_usd: nanoUsd } = row
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
