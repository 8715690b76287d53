import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Catalog, Model } from '../core/model.ts'
import type { Provider, Route, RouteTable } from '../core/route.ts'

type Options = {
  catalog: Catalog
  /** The configured providers by id. */
  providers: ReadonlyMap<string, Provider>
  /** The providers of test keys: one for each route of a model, and a second for a single one. */
  sandbox: { routes: readonly Provider[]; standby: Provider }
  /** The operator's routes by model id, each as `provider` or `provider/upstream model`. */
  routes: Readonly<Record<string, readonly string[]>>
  /** The setting that would enable a provider. */
  settingFor: (providerId: string) => string | undefined
}

/** A provider, and the model's name there. */
type Target = { provider: string; upstreamModel: string }

/** Routes by the operator's settings, else by the catalog; only configured providers count. */
export function createRouteTable(options: Options): RouteTable {
  const { catalog, providers, sandbox, settingFor } = options

  const readTargets = ({ row }: Model): Target[] =>
    (options.routes[row.id] ?? [row.provider]).map((target) => {
      const [provider = '', ...rest] = target.split('/')
      return { provider, upstreamModel: rest.length > 0 ? rest.join('/') : row.upstream_model }
    })
  const known = new WeakMap<Model, Target[]>()
  const targets = (model: Model): Target[] => {
    let found = known.get(model)
    if (found === undefined) known.set(model, (found = readTargets(model)))
    return found
  }

  const routesOf = (model: Model, caller: Caller): Route[] =>
    targets(model).flatMap(({ provider: id, upstreamModel }, index) => {
      const provider = caller.mode === 'test' ? sandbox.routes[index] : providers.get(id)
      return provider === undefined ? [] : { model, provider, upstreamModel }
    })
  const withStandby = (routes: Route[]): Route[] =>
    routes.length === 1 ? [...routes, { ...routes[0]!, provider: sandbox.standby }] : routes

  const notConfigured = (model: Model): GatewayError => {
    const settings = targets(model).map(({ provider }) => settingFor(provider))
    const known = settings.filter((setting) => setting !== undefined)
    const remedy =
      known.length > 0
        ? `Set ${known.join(' or ')} to enable it, or use a test key.`
        : 'Add a route to it in gateway.yaml, or use a test key.'
    return new GatewayError(
      'no_provider_configured',
      `No provider of the model '${model.row.id}' is configured. ${remedy}`,
      { param: 'model', retryAfterSeconds: 60 },
    )
  }

  return {
    routes: (names, caller) => {
      const found = names.map((name) => catalog.find(name))
      for (const { model } of found) checkAllowed(model, caller)
      const routes = found.flatMap(({ model }) => {
        const own = routesOf(model, caller)
        return caller.mode === 'test' ? withStandby(own) : own
      })
      if (routes.length === 0) throw notConfigured(found[0]!.model)
      return { routes, warnings: found[0]!.warnings }
    },
    usable: (model, caller) => mayUse(model, caller) && routesOf(model, caller).length > 0,
  }
}

function mayUse({ row }: Model, { models }: Caller): boolean {
  return models === null || models.includes(row.id)
}

function checkAllowed(model: Model, caller: Caller): void {
  if (mayUse(model, caller)) return
  throw new GatewayError(
    'model_not_allowed',
    `This API key may not use the model '${model.row.id}'. Choose another model or another key.`,
    { param: 'model' },
  )
}
