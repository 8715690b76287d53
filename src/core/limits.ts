import type { components } from '../../generated/types.ts'
import type { Allowance, Caller, SpendingLimit, UsageLimits } from './caller.ts'
import { moneyOf, noUsage, type Usage } from './money/price.ts'

type Schemas = components['schemas']

/** Limits that are counted in windows of one minute. */
export type WindowKind = Exclude<LimitKind, 'concurrency'>
export type LimitKind = Schemas['RateLimitKind']

export type LimitState = {
  kind: LimitKind
  /** The owner of the limit: all keys of an account or of a person in it share their limits. */
  owner: 'account' | 'key' | 'member'
  limit: number
  remaining: number
  /** The length of the window, and the time until it resets; absent for concurrency. */
  window?: { seconds: number; resetSeconds: number }
}

/** The expected usage of a call, before a route is chosen. */
export type Demand = {
  images: number
  /** Called only when tokens are limited: `certain` is requested, `assumed` is an estimate. */
  tokens: () => { certain: number; assumed: number }
}

/** The actual usage of a call that counts against limits. */
export type Used = Pick<Usage, 'inputTokens' | 'outputTokens' | 'images'>

/** A call that is within its caller's limits; `end` must be called. */
export type Admission = {
  /** The state of the limits, this call included; unused amounts are returned when the call ends. */
  limits: () => readonly LimitState[]
  /** Ends the call with its usage; undefined counts everything that was requested. Idempotent. */
  end: (used: Used | undefined) => void
}

/** Admits a call of at most `timeoutMs`. Throws `rate_limit_exceeded`; then nothing is counted. */
export type Admit = (
  caller: Caller,
  demand: Demand,
  timeoutMs: number,
) => Promise<Admission> | Admission

/** Counts a call that failed before its admission; returns the error to answer with. */
export type CountRefused = (thrown: unknown, caller: Caller | undefined) => Promise<unknown>

/** The most tags of a call. */
export const tagsMax = 8

/** The limits and budgets that count a call: those of its caller, and those of its tags. */
export function allowancesOf(
  { allowances, tagBudgets }: Caller,
  tags: readonly string[] | undefined,
): readonly Allowance[] {
  if (tagBudgets === undefined || tags === undefined) return allowances
  return [...allowances, ...tags.flatMap((tag) => tagBudgets.get(tag) ?? [])]
}

/** Whether a budget counts a call. */
export function isBudgeted(caller: Caller, tags: readonly string[] | undefined): boolean {
  return allowancesOf(caller, tags).some(({ budget }) => budget !== null)
}

/** Counts a request that calls no model. Throws `rate_limit_exceeded`. */
export async function countRequest(admit: Admit, caller: Caller): Promise<void> {
  const nothing = { images: 0, tokens: () => ({ certain: 0, assumed: 0 }) }
  const admission = await admit(caller, nothing, requestTimeoutMs)
  admission.end(noUsage)
}

/** After that time a process that has ended no longer counts as running. */
const requestTimeoutMs = 1000

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
