import type { Mode } from '../caller.ts'
import { addCost, type Cost } from './cost.ts'
import { GatewayError } from '../error.ts'
import type { Try } from '../resilience/failover.ts'
import { ProviderFailure, UnknownOutcome } from '../failure.ts'
import type { Usage } from './price.ts'
import type { PictureTraits, Spent } from './pricing.ts'
import { costOfAnswer, noCost, unknownCost, type UsageRow } from '../receipt.ts'
import type { Route } from '../route.ts'

/** A delivered answer, for the receipt and the ledger. */
export type Delivered = {
  route: Route
  usage: Usage | undefined
  /** The model that the vendor reports. */
  servedModel?: string
  picture?: PictureTraits
}

function outcomeOf(failure: ProviderFailure | undefined): UsageRow['outcome'] {
  if (failure instanceof UnknownOutcome) return 'unknown'
  return failure?.kind === 'cancelled' ? 'cancelled' : 'failed'
}

type Circumstances = { mode: Mode; atMs: number; tries: readonly Try[] }

/**
 * The outcome and cost of a failed call, which may have delivered a part of its answer
 * (docs/behaviour.md#budgets).
 */
export function failedEnd(
  failure: ProviderFailure | undefined,
  delivered: Delivered | undefined,
  circumstances: Circumstances,
) {
  const { mode, atMs, tries } = circumstances
  const outcome = outcomeOf(failure)
  const isOpen = delivered === undefined && tries.some((one) => one.failure?.mayBeCharged)
  const last = delivered === undefined ? tries.findLast(spentOf) : undefined
  const made = delivered ?? (last && { route: last.route, ...spentOf(last)! })
  const own = made ? costOfAnswer({ model: made.route.model, ...made, mode, atMs }) : noCost(mode)
  const known = withOtherTries(own, circumstances, last)
  const cost = outcome === 'unknown' || isOpen ? unknownCost(mode) : known
  return { outcome, usage: undefined, ...made, cost }
}

/**
 * The total cost of a call: `cost`, of the answer or of the try `own`, and the cost of the usage that vendors
 * reported in other tries. Sets the cost of each attempt that was not delivered.
 */
export function withOtherTries(cost: Cost, { mode, atMs, tries }: Circumstances, own?: Try): Cost {
  let all = cost
  for (const one of tries) {
    const spent = spentOf(one)
    if (spent === undefined) continue
    const part = costOfAnswer({ model: one.route.model, ...spent, mode, atMs })
    one.attempt.costNanoUsd = part.nanoUsd
    if (one !== own) all = addCost(all, part)
  }
  return all
}

function spentOf({ spent, failure }: Try): Spent | undefined {
  return spent ?? failure?.spent
}

/** Whether a call failed because it waited for an identical call, which failed. */
export function wasJoined(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.cause instanceof ProviderFailure
}
