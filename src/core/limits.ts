import type { components } from '../../generated/types.ts'
import type { Caller, SpendingLimit, UsageLimits } from './caller.ts'
import { moneyOf, type Usage } from './money/price.ts'

type Schemas = components['schemas']

/** What is counted in windows of a minute. */
export type WindowKind = Exclude<LimitKind, 'concurrency'>
export type LimitKind = Schemas['RateLimitKind']

/** One limit of a caller, and what is left of it. */
export type LimitState = {
  kind: LimitKind
  /** Whose limit it is: all keys of an account share the account's. */
  owner: 'account' | 'key'
  limit: number
  remaining: number
  /** The window of a limit that has one: how long it lasts, and when the open one ends. */
  window?: { seconds: number; resetSeconds: number }
}

/** What a call may use, as far as it is known before a route is chosen. */
export type Demand = {
  images: number
  /** Asked only where tokens are limited: `certain` was asked for, `assumed` is likely. */
  tokens: () => { certain: number; assumed: number }
}

/** What a call has used of what is limited. */
export type Used = Pick<Usage, 'inputTokens' | 'outputTokens' | 'images'>

/** A call that its caller's limits let in; `end` must be called. */
export type Admission = {
  /** The limits as this call leaves them: what it did not use is given back when it ends. */
  limits: () => readonly LimitState[]
  /** Ends the call, which has used this, or nobody knows what: then all that was asked for. Idempotent. */
  end: (used: Used | undefined) => void
}

/** Lets a call in that lasts no longer than `timeoutMs`. Throws `rate_limit_exceeded`; then nothing is counted. */
export type Admit = (caller: Caller, demand: Demand, timeoutMs: number) => Promise<Admission>

/** Counts a call that was refused before it was let in; gives the error to answer with. */
export type CountRefused = (thrown: unknown, caller: Caller | undefined) => Promise<unknown>

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
