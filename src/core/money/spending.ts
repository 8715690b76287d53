import type { Caller, Face } from '../caller.ts'
import type { Modality } from '../receipt.ts'
import type { Readiness, Route } from '../route.ts'
import { upperCost, type UpperUsage } from './upper-cost.ts'

/** The maximum cost of a call, to be reserved in budgets. */
type Charge = {
  caller: Caller
  requestId: string
  /** Start of the call, Unix time in milliseconds; selects the budget period. */
  at: number
  /** The longest duration of the call. */
  timeoutMs: number
  /** For the ledger row that is written if the process dies during the call. */
  face: Face
  modality: Modality
  model: string
  /** The maximum cost. */
  nanoUsd: number
}

/** The amount reserved in budgets for a call, until its ledger row replaces it. */
export type BudgetHold = {
  /** Cancels the reservation: the call ended without a row. */
  release(): Promise<void>
  /** Called when the row of the call is written or has failed: the call no longer holds the amount. */
  settled(): void
}

/**
 * Reserves the maximum cost of a call in all budgets of its caller, or in none. Throws `insufficient_quota`
 * when a budget has less left, and `overloaded` when the store is unavailable.
 */
export type Reserve = (charge: Charge) => Promise<BudgetHold>

/** Whether a budget applies to the caller; calls with a test key cost nothing. */
export function hasBudget({ mode, allowances: [account, key] }: Caller): boolean {
  return mode === 'live' && (account.budget !== null || key.budget !== null)
}

type Asked = {
  check(route: Route): Readiness
  upperUsage(route: Route): UpperUsage
}

/** Maximum costs of a call on its checked routes. */
type UpperCosts = {
  /** Checks a route, and adds a problem when its maximum cost is unknown. */
  check(route: Route): Readiness
  /** The maximum cost on the most expensive of these routes, in nano-dollars. */
  most(routes: readonly Route[]): number
}

/** The upper costs of a call that began at `atMs`, Unix time in milliseconds. */
export function upperCostsOf({ check, upperUsage }: Asked, atMs: number): UpperCosts {
  const costs = new Map<Route, number>()
  return {
    check: (route) => {
      const readiness = check(route)
      if (readiness.problems.length > 0) return readiness
      const cost = upperCost(route.model.prices, upperUsage(route), atMs)
      if (cost === undefined) return { ...readiness, problems: [withoutPrice(route)] }
      costs.set(route, cost.nanoUsd)
      return readiness
    },
    // Only checked routes may be tried.
    most: (routes) => Math.max(...routes.map((route) => costs.get(route)!)),
  }
}

function withoutPrice({ model: { row } }: Route) {
  const message =
    `The price of '${row.id}' is unknown, so a budget cannot cover the call. ` +
    'Choose another model, use a key and an account without a budget, or set its price in the setting `catalog`.'
  return { param: 'model', message, code: 'model_not_allowed' } as const
}
