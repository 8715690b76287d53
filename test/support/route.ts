import type { CatalogModel, Model } from '../../src/core/model.ts'
import { readPrices } from '../../src/core/price.ts'
import type { Provider, Route } from '../../src/core/route.ts'
import { readCatalogRows } from '../../src/catalog/catalog.ts'

const rows = readCatalogRows()

/** A model of the catalog. */
export function modelOf(id: string): Model {
  const row = rows.find((one: CatalogModel) => one.id === id)
  if (row === undefined) throw new Error(`The catalog has no ${id}.`)
  return { row, prices: readPrices(row.pricing), undescribed: false }
}

/** A route that nobody calls. */
export function routeOf(
  provider: string,
  { model = 'gpt-4.1', ...rest }: Partial<Omit<Provider, 'id'>> & { model?: string } = {},
): Route {
  const found = modelOf(model)
  return {
    model: found,
    provider: { id: provider, ...rest },
    upstreamModel: found.row.upstream_model,
  }
}
