import { createCatalog, readCatalogRows } from '../../src/catalog/catalog.ts'
import type { CatalogModel, Model, Warning } from '../../src/core/model.ts'
import { readPrices } from '../../src/core/money/price.ts'
import { selectRoutes, type Provider, type Route } from '../../src/core/route.ts'

const rows = readCatalogRows()

/** Finds models that the catalog does not describe, at providers that take any name. */
const others = createCatalog({
  rows: [],
  undescribed: ['moonshot', 'openrouter', 'own', 'together'].map((provider) => {
    return { provider, models: '*' as const }
  }),
  aliases: {},
  prefixes: {},
  defaultImageModel: '',
  clock: () => 0,
})

/** A model of the catalog, or of a provider that takes any name. */
export function modelOf(id: string): Model {
  const row = rows.find((one: CatalogModel) => one.id === id)
  if (row === undefined) return others.find(id).model
  return { row, prices: readPrices(row), undescribed: false }
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

/** Chooses routes that would adjust a request so, for a caller who wants nothing adjusted. */
export function selectStrictly(warnings: readonly Warning[]): void {
  const check = () => ({ problems: [], warnings })
  selectRoutes({ routes: [routeOf('one')], check, warnings: [], strict: true, fallback: true })
}
