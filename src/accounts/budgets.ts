import type { components } from '../../generated/types.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { usdText } from '../core/money/price.ts'
import type { Held, Reserve } from '../core/money/spending.ts'
import { StoreError } from '../storage/store-error.ts'
import { readStates } from './budget-states.ts'
import { createGroups, type GroupLimits } from './groups.ts'
import { createReservations, type ReservingStore } from './reservations.ts'
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

export type Budgets = {
  reserve: Reserve
  /** The same of a caller's account and key; null where there is none. */
  statesFor(caller: Caller): Promise<[account: BudgetState | null, key: BudgetState | null]>
  /** What has become of budgets in the periods that run, in order. */
  states(owners: readonly BudgetOwner[]): Promise<BudgetState[]>
  /** The requests that this process holds something for. */
  held: ReadonlySet<string>
  /** Those that nothing is held for any more, though the store may not know; with the times it was told. */
  doubtful: Map<string, number>
}

type Options = {
  store: ReservingStore
  clock: () => number
  limits?: GroupLimits
}

/** How long after its deadline a call has certainly ended, in this process or with it. */
const marginMs = 60_000
/** An owner's window may be opened, and money may come free, between a refusal and a look. */
const triesMax = 4
/** Of more than these the store is not told: what they hold comes free after their deadlines. */
const doubtfulMax = 10_000

/** Budgets of accounts and keys in the store (docs/storage.md#budgets). */
export function createBudgets({ store, clock, limits }: Options): Budgets {
  const { db } = store
  const held = new Set<string>()
  const doubtful = new Map<string, number>()
  const doubt = (requestId: string): void => {
    if (doubtful.size < doubtfulMax) doubtful.set(requestId, 0)
  }
  const { grant, end } = createReservations(store)
  const reserveOne = createGroups(grant, limits)
  const endOne = createGroups(end, limits)

  const read = (owners: readonly OwnedWindow[]) => asking(() => readSpendings(db, owners))

  const reserve: Reserve = async ({ caller, timeoutMs, ...call }) => {
    const { requestId, at, nanoUsd } = call
    const owners = ownersOf(caller).map((owner) => inWindow(owner, at))
    const { accountId, keyId } = caller
    const expiresAt = clock() + timeoutMs + marginMs
    const asked = { ...call, accountId, keyId, expiresAt, owners }
    held.add(requestId)
    try {
      for (let tries = 0; tries < triesMax; tries++) {
        if (await reserveOne(asked)) return hold(requestId)
        const spent = (await read(owners)).find((one) => leftOf(one) < nanoUsd)
        if (spent !== undefined) throw insufficient(spent, nanoUsd)
      }
      throw busy()
    } catch (error) {
      held.delete(requestId)
      // Who gave up waiting for the store does not know what it has done.
      const isDecided = error instanceof GatewayError && error.code === 'insufficient_quota'
      if (!isDecided) doubt(requestId)
      throw error
    }
  }
  const hold = (requestId: string): Held => ({
    settled: () => void held.delete(requestId),
    release: async () => {
      held.delete(requestId)
      await endOne(requestId).catch(() => doubt(requestId))
    },
  })

  const states: Budgets['states'] = (owners) => asking(() => readStates(db, owners, clock()))

  return {
    reserve,
    held,
    doubtful,
    states,
    statesFor: async (caller) => {
      const found = await states(ownersOf(caller))
      const {
        allowances: [account, key],
      } = caller
      const of = ({ ownerId }: Allowance) => found.find((one) => one.owner_id === ownerId) ?? null
      return [of(account), of(key)]
    },
  }
}

/** The budgets that a caller's calls have to keep to. */
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
  const held = spending.reserved === 0 ? '' : `, $${budget.reserved.usd} is held by calls under way`
  const per = period === 'total' ? 'in total' : `per ${period}`
  const then = renewal === null ? 'It does not renew' : `It renews at ${renewal}`
  const text =
    `The budget of ${whose} does not cover this call, which may cost up to $${usdText(nanoUsd)}: ` +
    `of $${budget.amount.usd} ${per}, $${budget.left.usd} is left${held}. ${then}. ` +
    'Ask for less (max_completion_tokens, n, a smaller size), choose a cheaper model, or have the budget raised.'
  return new GatewayError('insufficient_quota', text, { progress: { budget } })
}

async function asking<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof StoreError) || error.concernsStatement) throw error
    throw busy(error)
  }
}

function busy(cause?: StoreError): GatewayError {
  const text = 'The budget cannot be asked at the moment. Try again in a moment.'
  return new GatewayError('overloaded', text, { cause, retryAfterSeconds: 1 })
}
