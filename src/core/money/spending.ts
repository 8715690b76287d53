import type { Caller, Face } from '../caller.ts'
import type { Modality } from '../receipt.ts'
import type { Readiness, Route } from '../route.ts'
import { upperCost, type UpperUsage } from './upper-cost.ts'

/** A call that budgets have to cover. */
type Charge = {
  caller: Caller
  requestId: string
  /** When the call began, Unix time in milliseconds: the period that it belongs to. */
  at: number
  /** How long it may last. */
  timeoutMs: number
  /** For its row where its process ends before it does. */
  face: Face
  modality: Modality
  model: string
  /** The most that it may cost. */
  nanoUsd: number
}

/** What is held of the budgets for a call, until its row in the ledger takes the place of that. */
export type Held = {
  /** Gives it back: the call ended without a row. */
  release(): Promise<void>
  /** The call has its row, or can have none: what is held is not the call's any more. */
  settled(): void
}

/**
 * Holds what a call may cost of every budget of its caller, or of none. Throws `insufficient_quota`
 * when one of them has less left, and `overloaded` when the store cannot be asked.
 */
export type Reserve = (charge: Charge) => Promise<Held>

/** Whether a budget has to cover the caller's calls: those of a test key cost nothing. */
export function hasBudget({ mode, allowances: [account, key] }: Caller): boolean {
  return mode === 'live' && (account.budget !== null || key.budget !== null)
}

type Asked = {
  check(route: Route): Readiness
  upperUsage(route: Route): UpperUsage
}

/** The most that a call may cost on the routes that were checked. */
type UpperCosts = {
  /** As asked, and whether it is known what the route may cost at most. */
  check(route: Route): Readiness
  /** In nano-dollars, on the dearest of these routes. */
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
    // Only what was checked is among the routes that may be tried.
    most: (routes) => Math.max(...routes.map((route) => costs.get(route)!)),
  }
}

function withoutPrice({ model: { row } }: Route) {
  const message =
    `No price of '${row.id}' is known, so that no budget can cover it. ` +
    'Choose another model, use a key and an account without a budget, or give it a price in the setting `catalog`.'
  return { param: 'model', message, code: 'model_not_allowed' } as const
}
