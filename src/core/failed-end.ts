import type { Mode } from './caller.ts'
import type { Cost } from './cost.ts'
import { UnknownOutcome, type ProviderFailure } from './failure.ts'
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

type Circumstances = { mode: Mode; atMs: number }

/** What is recorded of a call that failed, and may have delivered something before. */
export function failedEnd(
  failure: ProviderFailure | undefined,
  delivered: Delivered | undefined,
  { mode, atMs }: Circumstances,
) {
  const outcome = outcomeOf(failure)
  const cost = delivered
    ? costOfAnswer({ model: delivered.route.model, ...delivered, mode, atMs })
    : costOfNothing(outcome, mode)
  return { outcome, cost, usage: undefined, ...delivered }
}

/** What a call costs that delivered nothing, as far as is known. */
function costOfNothing(outcome: UsageRow['outcome'], mode: Mode): Cost {
  return outcome === 'unknown' ? unknownCost(mode) : noCost(mode)
}
