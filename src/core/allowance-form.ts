import type { components } from '../../generated/types.ts'
import type { SpendingLimit, UsageLimits } from './caller.ts'
import { moneyOf } from './price.ts'

type Schemas = components['schemas']
/** A budget without what has become of it. */
export type BudgetForm = Pick<Schemas['BudgetState'], 'amount' | 'period'>

/** Limits in the contract's form. */
export function limitsForm(limits: UsageLimits): Schemas['Limits'] {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    images_per_minute: limits.imagesPerMinute,
    concurrency: limits.concurrency,
  }
}

/** A budget in the contract's form. */
export function budgetForm(budget: SpendingLimit | null): BudgetForm | null {
  return budget === null ? null : { amount: moneyOf(budget.nanoUsd), period: budget.period }
}
