import { addUsage } from './add-usage.ts'
import type { Mode } from './caller.ts'
import { GatewayError } from './error.ts'
import type { Try } from './failover.ts'
import { ProviderFailure, UnknownOutcome, type Spent } from './failure.ts'
import type { Usage } from './price.ts'
import type { PictureTraits } from './pricing.ts'
import { costOfAnswer, noCost, unknownCost, type UsageRow } from './receipt.ts'
import type { Route } from './route.ts'

/** What a route delivered, as needed for the receipt and the ledger. */
export type Delivered = {
  route: Route
  usage: Usage | undefined
  /** The model that the vendor says has answered. */
  servedModel?: string
  picture?: PictureTraits
}

function outcomeOf(failure: ProviderFailure | undefined): UsageRow['outcome'] {
  if (failure instanceof UnknownOutcome) return 'unknown'
  return failure?.kind === 'cancelled' ? 'cancelled' : 'failed'
}

type Circumstances = { mode: Mode; atMs: number; tries: readonly Try[] }

/**
 * What is recorded of a call that failed, and may have delivered something before
 * (docs/behaviour.md#budgets).
 */
export function failedEnd(
  failure: ProviderFailure | undefined,
  delivered: Delivered | undefined,
  { mode, atMs, tries }: Circumstances,
) {
  const outcome = outcomeOf(failure)
  const made = delivered ?? spentIn(tries)
  const isOpen = delivered === undefined && tries.some((one) => one.failure?.mayBeCharged)
  // One row has the prices of one model.
  const models = new Set(tries.flatMap((one) => (spentOf(one) ? [one.route.model] : [])))
  const isUnknown = outcome === 'unknown' || isOpen || models.size > 1
  if (isUnknown) return { outcome, usage: undefined, ...made, cost: unknownCost(mode) }
  if (made === undefined) return { outcome, usage: undefined, cost: noCost(mode) }
  return { outcome, ...made, cost: costOfAnswer({ model: made.route.model, ...made, mode, atMs }) }
}

/** What the tries of a call have used together, as the route of the last one. */
function spentIn(tries: readonly Try[]): Delivered | undefined {
  let all: Delivered | undefined
  for (const one of tries) {
    const spent = spentOf(one)
    if (spent === undefined) continue
    const { route } = one
    const { usage, picture } = spent
    const sum = all?.usage === undefined ? usage : addUsage(all.usage, usage)
    all = { route, usage: sum, ...(picture && { picture: addTraits(all?.picture, picture) }) }
  }
  return all
}

function spentOf({ spent, failure }: Try): Spent | undefined {
  return spent ?? failure?.spent
}

function addTraits(before: PictureTraits | undefined, picture: PictureTraits): PictureTraits {
  const { referenceImages = 0 } = before ?? {}
  return { ...picture, referenceImages: referenceImages + (picture.referenceImages ?? 0) }
}

/** Whether a call waited for an identical one, which failed. */
export function wasJoined(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.cause instanceof ProviderFailure
}
