import type { components } from '../../generated/types.ts'
import type { Allowance } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { nanoUsd } from '../core/money/price.ts'
import type { AllowanceColumns, ApiKeysTable } from '../storage/tables.ts'
import { tagOwner } from './budget-owners.ts'

type Schemas = components['schemas']

/** The columns of an account or key without limits and without a budget. */
export const noAllowance: AllowanceColumns = {
  requests_per_minute: null,
  tokens_per_minute: null,
  images_per_minute: null,
  concurrency: null,
  budget_nano_usd: null,
  budget_period: null,
}

/** An account, a member, or a key, which may share the counts of another key. */
type Countable = { id: string; counts_with?: string | null }

/** The limits and the budget in the row of an account, key or member. */
export function allowanceOf(row: AllowanceColumns & Countable): Allowance {
  const { budget_nano_usd: nano, budget_period: period } = row
  return {
    ownerId: countedAs(row),
    limits: {
      requestsPerMinute: row.requests_per_minute,
      tokensPerMinute: row.tokens_per_minute,
      imagesPerMinute: row.images_per_minute,
      concurrency: row.concurrency,
    },
    budget: nano === null || period === null ? null : { nanoUsd: nano, period },
  }
}

/** Whether a row sets a limit or a budget. */
export function isLimited(row: AllowanceColumns & Partial<TagBudgetColumn>): boolean {
  return (
    (row.tag_budgets ?? null) !== null ||
    row.budget_nano_usd !== null ||
    limitColumns.some((column) => row[column] !== null)
  )
}

type TagBudgetColumn = Pick<ApiKeysTable, 'tag_budgets'>
type KeyOfTags = Pick<ApiKeysTable, 'id' | 'account_id' | 'counts_with'> & TagBudgetColumn
/** A budget in the column `tag_budgets`. */
type StoredTagBudget = {
  tag: string
  nano_usd: number
  period: Schemas['BudgetPeriod']
}

/** The column for budgets of tags. Throws `invalid_value` for a tag that is named twice. */
export function tagBudgetColumn(given: Schemas['NewTagBudgets']): TagBudgetColumn {
  const list = given.map(({ tag, budget: { usd, period } }, index): StoredTagBudget => {
    if (given.findIndex((one) => one.tag === tag) === index)
      return { tag, nano_usd: Number(nanoUsd(usd)), period }
    const param = `tag_budgets[${index}].tag`
    const text = `'${param}' is '${tag}' again. Send one budget for each tag.`
    throw new GatewayError('invalid_value', text, { param })
  })
  return { tag_budgets: list.length === 0 ? null : JSON.stringify(list) }
}

/** The budgets of the tags of a key, each as a row of its owner. */
export function tagRows({ tag_budgets: text, account_id, ...key }: KeyOfTags) {
  // `tagBudgetColumn` writes this column.
  const list = text === null ? [] : (JSON.parse(text) as StoredTagBudget[])
  const owner = countedAs(key)
  return list.map(({ tag, nano_usd, period }) => ({
    ...noAllowance,
    tag,
    id: tagOwner(owner, tag),
    account_id,
    budget_nano_usd: nano_usd,
    budget_period: period,
  }))
}

export const limitColumns = [
  'requests_per_minute',
  'tokens_per_minute',
  'images_per_minute',
  'concurrency',
] as const

/** The id that a key's requests and costs are counted under; several keys may share one id. */
export function countedAs({ id, counts_with: first }: Countable): string {
  return first ?? id
}

/** The columns that set limits and a budget; omitted members are omitted from the columns too. */
export function allowanceColumns({
  limits = {},
  budget,
}: {
  limits?: Schemas['NewLimits']
  budget?: Schemas['NewNullableBudget']
}): Partial<AllowanceColumns> {
  if (budget === undefined) return limits
  if (budget === null) return { ...limits, budget_nano_usd: null, budget_period: null }
  const nano = Number(nanoUsd(budget.usd))
  return { ...limits, budget_nano_usd: nano, budget_period: budget.period }
}
