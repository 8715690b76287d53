import { sql, type Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import { listed, sqlDialectOf, tagsOf } from '../storage/sql-dialect.ts'
import type {
  AllowanceColumns,
  ApiKeysTable,
  BudgetWindowsTable,
  Tables,
} from '../storage/tables.ts'
import { allowanceOf, tagRows } from './allowance.ts'
import { kindOf, ownerOfRow } from './budget-owners.ts'
import {
  inWindow,
  readOpenWindows,
  stateOf,
  windowName,
  type BudgetOwner,
  type OwnedWindow,
} from './spendings.ts'

type ApiKey = components['schemas']['ApiKey']
type BudgetState = components['schemas']['BudgetState']
type Sums = Pick<BudgetWindowsTable, 'spent_nano_usd' | 'reserved_nano_usd'>

const nothing: Sums = { spent_nano_usd: 0, reserved_nano_usd: 0 }

/** The states of budgets in the periods that contain a time, in the order of the owners. */
export async function readStates(
  db: Kysely<Tables>,
  owners: readonly BudgetOwner[],
  at: number,
): Promise<BudgetState[]> {
  if (owners.length === 0) return []
  const windows = owners.map((owner) => inWindow(owner, at))
  const open = await readOpenWindows(db, windows)
  const missing = windows.filter((one) => !open.has(windowName(one)))
  const sums = missing.length === 0 ? undefined : await addUp(db, missing)
  return windows.map((one) => {
    const { spent_nano_usd: spent, reserved_nano_usd: reserved } =
      open.get(windowName(one)) ?? sums?.get(windowName(one)) ?? nothing
    return stateOf({ ...one, spent, reserved })
  })
}

/** An account, or what has its id as owner id and belongs to one. */
type OwnerRow = AllowanceColumns & { id: string; account_id?: string; counts_with?: string | null }

/** The budget states of accounts, keys or members; null for a row without a budget. */
export async function readStatesOf(
  db: Kysely<Tables>,
  rows: readonly OwnerRow[],
  at: number,
): Promise<(BudgetState | null)[]> {
  const owners = rows.map((row) => {
    const { ownerId, budget } = allowanceOf(row)
    const accountId = row.account_id ?? row.id
    return budget === null ? undefined : { accountId, ownerId, budget }
  })
  const states = await readStates(
    db,
    owners.filter((owner) => owner !== undefined),
    at,
  )
  return owners.map((owner) => (owner === undefined ? null : states.shift()!))
}

/** The budget states of keys and of their tags, in the contract's form. */
export async function readKeyStates(
  db: Kysely<Tables>,
  keys: readonly ApiKeysTable[],
  at: number,
): Promise<Pick<ApiKey, 'budget' | 'tag_budgets'>[]> {
  const tags = keys.map(tagRows)
  const rows = keys.flatMap((key, index) => [key, ...tags[index]!])
  const states = await readStatesOf(db, rows, at)
  return tags.map((own) => ({
    budget: states.shift() ?? null,
    tag_budgets: own.map(({ tag }) => ({ tag, budget: states.shift()! })),
  }))
}

/** The sums of windows that are not open yet. The windows stay closed: reading a state writes nothing. */
async function addUp(
  db: Kysely<Tables>,
  missing: readonly OwnedWindow[],
): Promise<ReadonlyMap<string, Sums>> {
  const alike = Object.values(
    Object.groupBy(missing, (owner) => [owner.budget.period, kindOf(owner)].join(' ')),
  )
  const sums = await Promise.all(alike.map((some = []) => addUpAlike(db, some)))
  return new Map(sums.flat())
}

/** Sums for owners of the same kind, with the same period. */
async function addUpAlike(
  db: Kysely<Tables>,
  owners: readonly OwnedWindow[],
): Promise<[string, Sums][]> {
  const { window } = owners[0]!
  const kind = kindOf(owners[0]!)
  const owner = ownerOfRow[kind]
  const isTag = kind === 'tag'
  // Only rows have tags.
  const calls = isTag ? sql`usage` : sql`usage_hours`
  const time = isTag ? sql`one.at` : sql`one.hour_at`
  const tags = isTag ? sql`cross join ${tagsOf(sqlDialectOf(db), sql`one.tags`)}` : sql``
  const hasTags = isTag ? sql`one.tags is not null and` : sql``
  const accounts = listed(
    db,
    owners.map((one) => one.accountId),
  )
  const ids = listed(
    db,
    owners.map((one) => one.ownerId),
  )
  const { startsAt, endsAt } = window
  const { rows } = await sql<Sums & { owner_id: string }>`
    select owner_id, cast(sum(spent) as bigint) as spent_nano_usd,
      cast(sum(reserved) as bigint) as reserved_nano_usd
    from (
      select ${owner} as owner_id, coalesce(one.cost_nano_usd, 0) as spent, 0 as reserved
      from ${calls} one left join api_keys k on k.id = one.key_id ${tags}
      where ${hasTags} one.account_id in ${accounts} and one.mode = 'live'
        and ${time} >= ${startsAt} and ${time} < ${endsAt}
      union all
      select ${owner}, 0, one.nano_usd
      from reservations one left join api_keys k on k.id = one.key_id ${tags}
      where ${hasTags} one.account_id in ${accounts} and one.at >= ${startsAt} and one.at < ${endsAt}
    ) as counted
    where owner_id in ${ids}
    group by owner_id`.execute(db)
  const found = new Map(rows.map((row) => [row.owner_id, row]))
  return owners.map((one) => [windowName(one), found.get(one.ownerId) ?? nothing])
}
