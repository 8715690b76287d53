import type { Kysely } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Allowance } from '../core/caller.ts'
import { budgetForm, limitsForm, type BudgetForm } from '../core/limits.ts'
import { usdText } from '../core/money/price.ts'
import type { MemberLimits, Tables } from '../storage/tables.ts'
import { allowanceColumns, allowanceOf, noAllowance } from './allowance.ts'
import { memberOwner } from './budget-owners.ts'
import { readStatesOf } from './budget-states.ts'
import type { ModelIds } from './key-settings.ts'

type Schemas = components['schemas']
type KeyBounds = Schemas['KeyBounds']

/** The limits that a member or an invited person may be given. */
export type LimitChange = Pick<
  Schemas['MemberChange'],
  'limits' | 'budget' | 'sandbox_only' | 'key_bounds'
>

/** The columns of a member without limits, who may create no keys. */
export const unlimitedMember: MemberLimits = {
  ...noAllowance,
  sandbox_only: null,
  key_bounds: null,
}

/** The columns that set limits; omitted members are omitted from the columns too. Throws `invalid_value` for a model. */
export function memberColumns(change: LimitChange, modelIds: ModelIds): Partial<MemberLimits> {
  const { sandbox_only: sandboxOnly, key_bounds: bounds } = change
  return {
    ...allowanceColumns(change),
    ...(sandboxOnly === undefined ? {} : { sandbox_only: Number(sandboxOnly) }),
    ...(bounds === undefined ? {} : { key_bounds: bounds && boundsText(bounds, modelIds) }),
  }
}

function boundsText(bounds: KeyBounds, modelIds: ModelIds): string {
  const { models } = bounds
  return JSON.stringify(
    models ? { ...bounds, models: modelIds(models, 'key_bounds.models') } : bounds,
  )
}

/** The names of the columns, which are those of the type. */
export const limitNames = Object.keys(unlimitedMember) as (keyof MemberLimits)[]

/** The limits in these columns. */
export function limitsIn(row: MemberLimits): MemberLimits {
  return Object.fromEntries(limitNames.map((name) => [name, row[name]])) as MemberLimits
}

/** The bounds of the keys that a member may create; null for a member who may create none. */
export function keyBoundsIn({ key_bounds: text }: Pick<MemberLimits, 'key_bounds'>) {
  // `boundsText` writes this column.
  return text === null ? null : (JSON.parse(text) as KeyBounds)
}

type Settings = Required<Pick<Schemas['Member'], 'limits' | 'sandbox_only' | 'key_bounds'>>

/** The limits of a member in the contract's form. */
export function memberSettings(row: MemberLimits): Settings & { budget: BudgetForm | null } {
  const { limits, budget } = allowanceOf({ ...row, id: '' })
  return {
    limits: limitsForm(limits),
    budget: budgetForm(budget),
    sandbox_only: row.sandbox_only === 1,
    key_bounds: keyBoundsIn(row),
  }
}

/** The limits that an invitation offers, in the contract's form. */
export function offeredLimits(row: MemberLimits): Settings & Pick<Schemas['Invitation'], 'budget'> {
  const { budget_nano_usd: nano, budget_period: period } = row
  const budget = nano === null || period === null ? null : { usd: usdText(nano), period }
  return { ...memberSettings(row), budget }
}

type Membership = { account_id: string; person_id: string }

/** The budget states of members; null for a member without a budget. */
export function memberBudgets(
  db: Kysely<Tables>,
  rows: readonly (MemberLimits & Membership)[],
  now: number,
) {
  const owners = rows.map((row) => ({ ...row, id: memberOwner(row.account_id, row.person_id) }))
  return readStatesOf(db, owners, now)
}

/** The limits and the budget of a person in an account. */
export function memberAllowance(row: MemberLimits & Membership): Allowance {
  return allowanceOf({ ...row, id: memberOwner(row.account_id, row.person_id) })
}
