import type { CatalogModel, Target } from '../core/model.ts'
import { pricesAt, readPrices } from '../core/money/price.ts'

/**
 * Prices for comparing routes: today's nano-dollars for a million input plus a million output tokens
 * of the route's upstream model, which may differ from the requested model.
 */
export function createPriceOf(
  rows: readonly CatalogModel[],
  clock: () => number,
): (route: Target) => bigint | undefined {
  const prices = new Map(
    rows.map((row) => [`${row.provider}/${row.upstream_model}`, readPrices(row)]),
  )
  return ({ provider, upstreamModel }) => {
    const known = prices.get(`${provider.id}/${upstreamModel}`)
    const tokens = known === undefined ? null : pricesAt(known, clock()).tokens
    return tokens === null ? undefined : tokens.input + (tokens.output ?? tokens.imageOutput ?? 0n)
  }
}
