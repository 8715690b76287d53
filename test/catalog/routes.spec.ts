import { expect } from 'chai'
import { createCatalog, readCatalogRows } from '../../src/catalog/catalog.ts'
import { createRouteTable } from '../../src/catalog/routes.ts'
import type { Caller } from '../../src/core/caller.ts'
import { GatewayError } from '../../src/core/error.ts'
import { namePrefixes, settingFor, vendorFacts } from '../../src/providers/index.ts'
import { callerOf } from '../support/callers.ts'

const live = callerOf()
const test: Caller = { ...live, mode: 'test' }

function tableOf(providerIds: string[], routes: Record<string, string[]> = {}) {
  const catalog = createCatalog({
    rows: readCatalogRows(),
    undescribed: [{ provider: 'own', models: '*' }],
    aliases: {},
    prefixes: namePrefixes,
    defaultImageModel: 'gemini-3-pro-image-preview',
    clock: () => Date.parse('2026-11-20'),
  })
  const providers = new Map(providerIds.map((id) => [id, { id }]))
  const routesOfTests = [{ id: 'sandbox' }, { id: 'sandbox-2' }]
  const sandbox = { routes: routesOfTests, standby: { id: 'standby' } }
  const vendorModels = { find: () => undefined, learn: () => undefined }
  const parts = {
    catalog,
    vendorModels,
    providers,
    replayed: () => new Map(),
    sandbox,
    routes,
    settingFor,
    factsOf: vendorFacts,
  }
  const table = createRouteTable(parts)
  const routesOf = (names: readonly string[], caller = live) =>
    table.routes(
      names.map((name) => table.find(name, caller)),
      caller,
    )
  const ways = (names: string[], caller = live) =>
    found(routesOf(names, caller)).routes.map(({ provider, upstreamModel }) => ({
      provider: provider.id,
      upstreamModel,
    }))
  return { table, catalog, routesOf, ways }
}

/** Models in the catalog are found synchronously. */
function found<T>(looked: T | Promise<T>): T {
  if (looked instanceof Promise) throw new Error('The look-up was asynchronous.')
  return looked
}

function refusal(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('There was a route.')
}

describe('the routes to a model', () => {
  it('lead to the provider of its row, with its name at the provider', () => {
    const { ways } = tableOf(['google'])
    expect(ways(['gemini-3-pro-image-preview'])).to.deep.equal([
      { provider: 'google', upstreamModel: 'gemini-3-pro-image' },
    ])
  })

  it("are the operator's, in their order, instead of the catalog's", () => {
    const routes = { 'gpt-5.2': ['own/gpt-five', 'openai', 'absent'] }
    const { ways } = tableOf(['openai', 'own'], routes)
    expect(ways(['gpt-5.2'])).to.deep.equal([
      { provider: 'own', upstreamModel: 'gpt-five' },
      { provider: 'openai', upstreamModel: 'gpt-5.2' },
    ])
  })

  it("are the operator's for any name of the model", () => {
    const { ways } = tableOf(['own'], { 'openai/GPT-5.2': ['own/gpt-five'] })
    for (const name of ['gpt-5.2', 'openai/gpt-5.2', 'gpt-5.2-2025-12-11']) {
      expect(ways([name])).to.deep.equal([{ provider: 'own', upstreamModel: 'gpt-five' }])
    }
  })

  it('of several models are tried in their order', () => {
    const { ways } = tableOf(['openai', 'mistral'])
    const [first, second] = ways(['gpt-5.2', 'gpt-5.5'])
    expect([first?.upstreamModel, second?.upstreamModel]).to.deep.equal(['gpt-5.2', 'gpt-5.5'])
  })

  it('of a test key lead to the sandbox, one for each route of the model', () => {
    const routes = { 'gpt-5.2': ['own/gpt-five', 'openai'] }
    const { ways } = tableOf([], routes)
    const sandboxed = ways(['gpt-5.2'], test)
    const providersOf = (found: typeof sandboxed) => found.map(({ provider }) => provider)
    expect(providersOf(sandboxed)).to.deep.equal(['sandbox', 'sandbox-2'])
    expect(providersOf(ways(['gpt-5.5'], test))).to.deep.equal(['sandbox', 'standby'])
  })

  it('are missing when no provider is configured: 503 names the setting', () => {
    const { ways, table, catalog } = tableOf([])
    const error = refusal(() => ways(['gemini-3-pro-image-preview']))
    expect(error).to.include({ code: 'no_provider_configured', status: 503, param: 'model' })
    expect(error.message).to.include('Set GEMINI_API_KEY').and.to.include('test key')
    expect(error.retryAfterSeconds).to.equal(60)
    const { model } = catalog.find('gemini-3-pro-image-preview')
    expect(table.usable(model, live)).to.equal(false)
    expect(table.usable(model, test)).to.equal(true)
  })

  it('name an unknown fallback model', () => {
    const { routesOf } = tableOf(['openai'])
    for (const [names, param] of [
      [['gpt-9'], 'model'],
      [['gpt-4.1', 'gpt-5', 'gpt-9'], 'models[1]'],
    ] as const) {
      const error = refusal(() => routesOf(names))
      expect(error).to.include({ status: 404, code: 'model_not_found', param })
    }
  })

  it('are refused to a key for other models: 403, also as a fallback', () => {
    const { ways, table, catalog } = tableOf(['openai'])
    const limited = { ...live, models: ['gpt-5.2'] }
    expect(ways(['gpt-5.2'], limited)).to.have.length(1)
    const refused: [string[], string][] = [
      [['gpt-5.5'], 'model'],
      [['gpt-5.2', 'gpt-5.5'], 'models[0]'],
    ]
    for (const [names, param] of refused) {
      const error = refusal(() => ways(names, limited))
      expect(error).to.include({ code: 'model_not_allowed', status: 403, param })
    }
    expect(table.usable(catalog.find('gpt-5.5').model, limited)).to.equal(false)
  })
})
