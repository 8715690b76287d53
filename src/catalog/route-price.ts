import type { CatalogModel, Target } from '../core/model.ts'
import { pricesAt, readPrices } from '../core/money/price.ts'

/**
 * Prices for comparing routes: today's nano-dollars for a million input plus a million output tokens
 * of the route's upstream model, or else of the requested model, whose price the call has.
 */
export function createPriceOf(
  rows: readonly CatalogModel[],
  clock: () => number,
): (route: Target) => bigint | undefined {
  const prices = new Map(
    rows.map((row) => [`${row.provider}/${row.upstream_model}`, readPrices(row)]),
  )
  return ({ model, provider, upstreamModel }) => {
    const known = prices.get(`${provider.id}/${upstreamModel}`) ?? model.prices
    const { tokens } = pricesAt(known, clock())
    return tokens === null ? undefined : tokens.input + (tokens.output ?? tokens.imageOutput ?? 0n)
  }
}
