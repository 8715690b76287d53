import { createCatalog, readCatalogRows } from '../../src/catalog/catalog.ts'
import { namePrefixes, vendors } from '../../src/providers/index.ts'
import type { CatalogModel, Model, Warning } from '../../src/core/model.ts'
import { readPrices } from '../../src/core/money/price.ts'
import { selectRoutes, type Provider, type Route } from '../../src/core/route.ts'

const rows = readCatalogRows()

/** A catalog with the models of providers that accept any model name. */
const others = createCatalog({
  rows,
  undescribed: [
    { provider: 'own', models: '*' },
    ...vendors
      .filter(({ anyModel }) => anyModel)
      .map(({ id, modelsOf }) => ({ provider: id, models: '*' as const, modelsOf })),
  ],
  aliases: {},
  prefixes: namePrefixes,
  defaultImageModel: '',
  clock: () => 0,
})

/** A model of the catalog, or of a provider that accepts any model name. */
export function modelOf(id: string): Model {
  const row = rows.find((one: CatalogModel) => one.id === id)
  if (row === undefined) return others.find(id).model
  return { row, prices: readPrices(row), undescribed: false }
}

/** A route for tests that do not call the provider. */
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

/** Selects a route in strict mode, which refuses routes with warnings such as these. */
export function selectStrictly(warnings: readonly Warning[]): void {
  const check = () => ({ problems: [], warnings })
  selectRoutes({ routes: [routeOf('one')], check, warnings: [], strict: true, fallback: true })
}
