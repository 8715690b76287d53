import type { components } from '../../generated/types.ts'
import type { Allowance, Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { usdText } from '../core/price.ts'
import type { Held, Reserve } from '../core/spending.ts'
import { StoreError } from '../storage/store-error.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import { createGroups } from './groups.ts'
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
}

type Options = {
  store: Pick<GuardedStore, 'db' | 'decide'>
  clock: () => number
  limits: { ledgerGroupRowsMax: number; ledgerGroupPauseMaxMs: number }
}

const windowHolds = `exists (
  select 1 from budget_windows
  where owner_id = ? and ends_at = ? and starts_at = ? and spent_nano_usd + reserved_nano_usd <= ?)`

/** How long after its deadline a call has certainly ended, in this process or with it. */
const marginMs = 60_000
/** An owner's window may be opened, and money may come free, between a refusal and a look. */
const triesMax = 4

/** Budgets of accounts and keys in the store (docs/storage.md#budgets). */
export function createBudgets({ store, clock, limits }: Options): Budgets {
  const { db } = store
  const held = new Set<string>()
  const decide = createGroups(store.decide, limits)

  const read = (owners: readonly OwnedWindow[]) => asking(() => readSpendings(db, owners))

  const reserve: Reserve = async ({ caller, requestId, at, timeoutMs, nanoUsd }) => {
    const owners = ownersOf(caller).map((owner) => inWindow(owner, at))
    const { accountId, keyId } = caller
    const values = [requestId, accountId, keyId, nanoUsd, at, clock() + timeoutMs + marginMs]
    const statement = reservation(values, owners, nanoUsd)
    held.add(requestId)
    try {
      for (let tries = 0; tries < triesMax; tries++) {
        if ((await decide(statement)) === 1) return hold(requestId)
        const spent = (await read(owners)).find((one) => leftOf(one) < nanoUsd)
        if (spent !== undefined) throw insufficient(spent, nanoUsd)
      }
      throw busy()
    } catch (error) {
      held.delete(requestId)
      throw error
    }
  }
  const hold = (requestId: string): Held => ({
    settled: () => void held.delete(requestId),
    release: async () => {
      held.delete(requestId)
      const values = {
        sql: 'delete from reservations where request_id = ?',
        parameters: [requestId],
      }
      // One that cannot be released now is after its deadline.
      await decide(values).catch(() => undefined)
    },
  })

  const states: Budgets['states'] = async (owners) => {
    if (owners.length === 0) return []
    const now = clock()
    return (await read(owners.map((owner) => inWindow(owner, now)))).map(stateOf)
  }

  return {
    reserve,
    held,
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

/** Adds the reservation, if the windows are there and have enough left; by how many they are. */
const reservationSql: readonly string[] = [
  'true',
  windowHolds,
  `${windowHolds} and ${windowHolds}`,
].map(
  (condition) => `
    insert into reservations (request_id, account_id, key_id, nano_usd, at, expires_at)
    select ?, ?, ?, ?, ?, ? where ${condition}`,
)

function reservation(
  values: readonly (string | number)[],
  owners: readonly OwnedWindow[],
  nanoUsd: number,
) {
  const conditions = owners.flatMap(({ ownerId, window: { startsAt, endsAt }, budget }) => [
    ownerId,
    endsAt,
    startsAt,
    budget.nanoUsd - nanoUsd,
  ])
  return { sql: reservationSql[owners.length]!, parameters: [...values, ...conditions] }
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
