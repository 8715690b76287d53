import type { CatalogModel } from '../core/model.ts'
import { readPrices } from '../core/price.ts'
import type { Route } from '../core/route.ts'

/**
 * Prices to compare routes by: nano-dollars for a million input plus a million output tokens of the
 * route's upstream model, which need not be the model that the caller asked for.
 */
export function createPriceOf(rows: readonly CatalogModel[]): (route: Route) => bigint | undefined {
  const prices = new Map(
    rows.map((row) => {
      const { tokens } = readPrices(row.pricing)
      const price = tokens === null ? undefined : tokens.input + tokens.output
      return [`${row.provider}/${row.upstream_model}`, price]
    }),
  )
  return ({ provider, upstreamModel }) => prices.get(`${provider.id}/${upstreamModel}`)
}
