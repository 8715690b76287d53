import type { components } from '../../generated/types.ts'
import type { SpendingLimit, UsageLimits } from '../core/caller.ts'
import { moneyOf } from '../core/price.ts'

type Schemas = components['schemas']

/** Limits in the contract's form. */
export function limitsText(limits: UsageLimits): Schemas['Limits'] {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    images_per_minute: limits.imagesPerMinute,
    concurrency: limits.concurrency,
  }
}

/** A budget in the contract's form. */
export function budgetText(budget: SpendingLimit | null): Schemas['Budget'] | null {
  return budget === null ? null : { amount: moneyOf(budget.nanoUsd), period: budget.period }
}
