import { sql, type Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { SpendingLimit } from '../core/caller.ts'
import { moneyOf } from '../core/money/price.ts'
import { listed, sqlDialectOf } from '../storage/sql-dialect.ts'
import type { BudgetWindowsTable, Tables } from '../storage/tables.ts'
import { countedBy } from './budget-owners.ts'

type BudgetState = components['schemas']['BudgetState']

export type BudgetOwner = {
  accountId: string
  /** The id of the account, or of one of its keys; of others as budget-owners.ts makes it. */
  ownerId: string
  budget: SpendingLimit
}

export type OwnedWindow = BudgetOwner & { window: BudgetWindow }
/** A window with the money spent and reserved in it. */
export type Spending = OwnedWindow & { spent: number; reserved: number }

/** The money spent and reserved in windows, in the order of the windows; opens windows that have no row yet. */
export async function readSpendings(
  db: Kysely<Tables>,
  owners: readonly OwnedWindow[],
): Promise<Spending[]> {
  const open = await readOpenWindows(db, owners)
  const spendings: Spending[] = []
  for (const owner of owners) {
    const row = open.get(windowName(owner)) ?? (await openWindow(db, owner))
    spendings.push({ ...owner, spent: row.spent_nano_usd, reserved: row.reserved_nano_usd })
  }
  return spendings
}

/** The windows of these owners that have a row, by `windowName`. */
export async function readOpenWindows(db: Kysely<Tables>, owners: readonly OwnedWindow[]) {
  const ids = owners.map(({ ownerId }) => ownerId)
  const rows = await db
    .selectFrom('budget_windows')
    .selectAll()
    .where('owner_id', 'in', listed(db, ids))
    .where('ends_at', '>', Math.min(...owners.map(({ window }) => window.startsAt)))
    .execute()
  return new Map(rows.map((row) => [nameOf(row), row]))
}

/** The name of a window in the result of `readOpenWindows`. */
export function windowName({ ownerId, window: { startsAt, endsAt } }: OwnedWindow): string {
  return nameOf({ owner_id: ownerId, starts_at: startsAt, ends_at: endsAt })
}

type WindowKey = Pick<BudgetWindowsTable, 'owner_id' | 'starts_at' | 'ends_at'>

function nameOf({ owner_id, starts_at, ends_at }: WindowKey): string {
  return `${owner_id} ${starts_at} ${ends_at}`
}

/** Inserts a window unless the window exists; from then on triggers update its sums. */
function openWindow(db: Kysely<Tables>, owner: OwnedWindow): Promise<BudgetWindowsTable> {
  if (sqlDialectOf(db) === 'sqlite') return openNow(db, owner)
  return db.transaction().execute(async (transaction) => {
    // Waits for uncommitted calls of the account, which the sums below would miss.
    await sql`select pg_advisory_xact_lock(hashtextextended(${owner.accountId}, 0))`.execute(
      transaction,
    )
    return openNow(transaction, owner)
  })
}

async function openNow(
  db: Kysely<Tables>,
  { accountId, ownerId, window: { startsAt, endsAt } }: OwnedWindow,
): Promise<BudgetWindowsTable> {
  const { calls, time, mayCount } = countedBy(db, { accountId, ownerId })
  await sql`
    insert into budget_windows
      (owner_id, starts_at, ends_at, spent_nano_usd, reserved_nano_usd)
    select ${ownerId}, cast(${startsAt} as bigint), cast(${endsAt} as bigint),
      (select coalesce(sum(cost_nano_usd), 0) from ${calls}
       where account_id = ${accountId} and mode = 'live'
         and ${time} >= ${startsAt} and ${time} < ${endsAt}${mayCount}),
      (select coalesce(sum(nano_usd), 0) from reservations
       where account_id = ${accountId} and at >= ${startsAt} and at < ${endsAt}${mayCount})
    where true
    on conflict do nothing`.execute(db)
  return db
    .selectFrom('budget_windows')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('ends_at', '=', endsAt)
    .where('starts_at', '=', startsAt)
    .executeTakeFirstOrThrow()
}

export function inWindow(owner: BudgetOwner, at: number): OwnedWindow {
  return { ...owner, window: windowAt(owner.budget.period, at) }
}

/** The money that is neither spent nor reserved; negative if calls cost more than they reserved. */
export function leftOf(spending: Spending): number {
  return unspentOf(spending) - spending.reserved
}

/** The money that is not spent; running calls may hold it. */
export function unspentOf({ budget, spent }: Spending): number {
  return budget.nanoUsd - spent
}

/** A budget state in the contract's form. */
export function stateOf(spending: Spending): BudgetState {
  const { ownerId, budget, spent, reserved, window } = spending
  const renewal = window.endsAt === endOfTime ? null : window.endsAt
  return {
    owner_id: ownerId,
    amount: moneyOf(budget.nanoUsd),
    period: budget.period,
    spent: moneyOf(spent),
    reserved: moneyOf(reserved),
    left: moneyOf(Math.max(0, leftOf(spending))),
    renews_at: renewal === null ? null : new Date(renewal).toISOString(),
  }
}

/** A period of a budget, Unix times in milliseconds; the end is exclusive. */
type BudgetWindow = { startsAt: number; endsAt: number }

/** The last time that a Date can hold. */
const endOfTime = 8_640_000_000_000_000
const dayMs = 86_400_000

/** The UTC day or month that contains a time, or all time. */
export function windowAt(period: SpendingLimit['period'], at: number): BudgetWindow {
  switch (period) {
    case 'day': {
      const startsAt = Math.floor(at / dayMs) * dayMs
      return { startsAt, endsAt: startsAt + dayMs }
    }
    case 'month': {
      const date = new Date(at)
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
      return { startsAt: Date.UTC(year, month), endsAt: Date.UTC(year, month + 1) }
    }
    case 'total':
      return { startsAt: 0, endsAt: endOfTime }
  }
}
