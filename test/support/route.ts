import { createCatalog, readCatalogRows } from '../../src/catalog/catalog.ts'
import type { CatalogModel, Model, Warning } from '../../src/core/model.ts'
import { readPrices } from '../../src/core/money/price.ts'
import { selectRoutes, type Provider, type Route } from '../../src/core/route.ts'

const rows = readCatalogRows()

/** Finds models that are not in the catalog, of providers that accept any name. */
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

/** A model of the catalog, or of a provider that accepts any name. */
export function modelOf(id: string): Model {
  const row = rows.find((one: CatalogModel) => one.id === id)
  if (row === undefined) return others.find(id).model
  return { row, prices: readPrices(row), undescribed: false }
}

/** A route for tests that do not call it. */
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

/** Selects among routes with these adjustments for a caller who allows none (strict mode). */
export function selectStrictly(warnings: readonly Warning[]): void {
  const check = () => ({ problems: [], warnings })
  selectRoutes({ routes: [routeOf('one')], check, warnings: [], strict: true, fallback: true })
}
