import type { Caller } from '../core/caller.ts'
import { replays } from '../core/play-cassette.ts'
import { GatewayError } from '../core/error.ts'
import { AmbiguousModel, ModelNotFound } from '../core/words/model-not-found.ts'
import {
  makesImages,
  type Catalog,
  type FindModel,
  type FoundModel,
  type Model,
  type VendorFacts,
} from '../core/model.ts'
import type { FoundRoutes, Provider, Route, RouteTable, Ways } from '../core/route.ts'
import { deactivated } from './catalog.ts'
import { nearModel, successorOf } from './names.ts'
import type { VendorModels } from './vendor-models.ts'

type Options = {
  catalog: Catalog
  /** Models of the configured vendors outside the catalog. */
  vendorModels: VendorModels
  /** The configured providers by id. */
  providers: ReadonlyMap<string, Provider>
  /** The providers that cassettes are replayed with, by id. */
  replayed: () => ReadonlyMap<string, Provider>
  /** Sandbox providers for test keys: one per route, and a standby for models with one route. */
  sandbox: { routes: readonly Provider[]; standby: Provider }
  /** The operator's routes by model name, each as `provider` or `provider/upstream model`. */
  routes: Readonly<Record<string, readonly string[]>>
  factsOf: (providerId: string) => VendorFacts
  /** The setting that enables a provider; undefined if there is none. */
  settingFor: (providerId: string) => string | undefined
}

type Target = { provider: string; upstreamModel: string }

/** Routes from the operator's settings or else the catalog, through configured providers only. */
export function createRouteTable(options: Options): RouteTable & Ways {
  const { catalog, vendorModels, providers } = options
  const idOf = (name: string) => {
    try {
      return catalog.find(name).model.row.id
    } catch (error) {
      if (error instanceof GatewayError) return name
      throw error
    }
  }
  const targets = createTargets(options, idOf)
  const keyModels = createKeyModels(idOf)

  const routesOf = createRoutesOf(options, targets)
  const usable = (model: Model, caller: Caller) =>
    keyModels.mayUse(model, caller) && routesOf(model, caller).length > 0

  const find = createFind(options)
  const findRoutes = createFindRoutes(options, { targets, keyModels, routesOf })
  const suggest = (error: unknown, caller: Caller): unknown => {
    if (error instanceof AmbiguousModel) return narrowed(error, (one) => usable(one, caller))
    if (!(error instanceof ModelNotFound)) return error
    const { models } = catalog.list({}, (model) => usable(model, caller))
    return unknownModel(error, models)
  }
  /** Repeats the look-up of an unknown name after the vendors' lists have been loaded. */
  const learned = <T>(
    models: readonly FoundModel[],
    caller: Caller,
    use: (models: readonly FoundModel[]) => T,
  ): T | Promise<T> => {
    try {
      return use(models)
    } catch (error) {
      const isOpen = error instanceof ModelNotFound && caller.mode === 'live'
      const learning = isOpen ? vendorModels.learn() : undefined
      if (learning === undefined) throw suggest(error, caller)
      return learning
        .then(() => use(models.map((one) => (one.error ? find(one.name, caller) : one))))
        .catch((again: unknown) => {
          throw suggest(again, caller)
        })
    }
  }
  return {
    find,
    routes: (models, caller) => learned(models, caller, (found) => findRoutes(found, caller)),
    model: (name, caller) => learned([find(name, caller)], caller, ([one]) => known(one!).model),
    usable,
    mayUse: keyModels.mayUse,
    ways: (model) =>
      targets(model).map(({ provider: id, upstreamModel }) => {
        const isConfigured = providers.has(id)
        return { model, provider: { id }, upstreamModel, isConfigured }
      }),
  }
}

type FindingParts = {
  targets: ReturnType<typeof createTargets>
  keyModels: ReturnType<typeof createKeyModels>
  routesOf: ReturnType<typeof createRoutesOf>
}

/** Finds the routes of models; those of a deprecated image model are followed by those of its successor. */
function createFindRoutes(
  { catalog, settingFor }: Pick<Options, 'catalog' | 'settingFor'>,
  { targets, keyModels, routesOf }: FindingParts,
) {
  const successorRoutes = (model: Model, caller: Caller): Route[] => {
    const { successor } = model.row
    if (successor === undefined || !makesImages(model)) return []
    const isOld = catalog.describe(model).row.status === 'deprecated'
    const next = isOld ? catalog.get(successor) : undefined
    if (next === undefined || !keyModels.mayUse(next, caller)) return []
    return routesOf(next, caller).map((route) => ({ ...route, replaces: model }))
  }
  return (models: readonly FoundModel[], caller: Caller): FoundRoutes => {
    const [first, ...others] = models
    const { model, warnings } = known(first!)
    const found = others.map((one, index) => placed(index, () => known(one).model))
    keyModels.check(model, caller)
    found.forEach((one, index) => placed(index, () => keyModels.check(one, caller)))
    const own = routesOf(model, caller)
    const routes =
      found.length === 0 ? own : [...own, ...found.flatMap((one) => routesOf(one, caller))]
    if (routes.length === 0) throw notConfigured(model, targets(model), settingFor)
    const more = found.length === 0 ? successorRoutes(model, caller) : []
    return { routes: more.length === 0 ? routes : [...routes, ...more], warnings }
  }
}

/** Finds models in the catalog, and for a live key also in the vendors' lists. */
function createFind({ catalog, vendorModels, factsOf }: Options): FindModel {
  const look = (name: string, caller: Caller): ReturnType<Catalog['find']> => {
    try {
      return catalog.find(name)
    } catch (error) {
      const isOpen = error instanceof ModelNotFound && caller.mode === 'live'
      const listed = isOpen ? vendorModels.find(name) : undefined
      if (listed === undefined) throw error
      return { model: listed, warnings: [] }
    }
  }
  return (name, caller) => {
    try {
      const { model, warnings } = look(name, caller)
      return { name, model, vendor: factsOf(model.row.provider), warnings }
    } catch (error) {
      if (error instanceof GatewayError) return { name, error }
      throw error
    }
  }
}

/** The error of an unknown name for a key that may use these models. */
function unknownModel({ modelName, param }: ModelNotFound, models: readonly Model[]): GatewayError {
  const near = nearModel(modelName, models)
  const next = successorOf(modelName)
  return next === undefined
    ? new ModelNotFound(modelName, near, param!)
    : deactivated({ id: modelName }, param!, near === next ? next : '')
}

/** The error of an ambiguous name, without candidates that the key may not use. */
function narrowed(
  { modelName, candidates, param }: AmbiguousModel,
  isUsable: (model: Model) => boolean,
): GatewayError {
  const own = candidates.filter(isUsable)
  return own.length > 1
    ? new AmbiguousModel(modelName, own, param!)
    : new ModelNotFound(modelName, own[0]?.row.id, param!)
}

/** Runs a look-up, whose errors name the parameter `models[index]`. */
function placed<T>(index: number, look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const param = `models[${index}]`
    // Keeps the requested name, which `suggest` needs later.
    if (error instanceof ModelNotFound) throw new ModelNotFound(error.modelName, undefined, param)
    if (error instanceof AmbiguousModel)
      throw new AmbiguousModel(error.modelName, error.candidates, param)
    throw error.named(() => param)
  }
}

/** The model of a name. Throws the GatewayError of an unknown name. */
function known(found: FoundModel): Extract<FoundModel, { model: Model }> {
  if (found.error !== undefined) throw found.error
  return found
}

/** The targets of each model: the operator's routes, or else the provider of its row. */
function createTargets(
  { routes }: Pick<Options, 'routes'>,
  idOf: (name: string) => string,
): (model: Model) => readonly Target[] {
  const ways = new Map(Object.entries(routes).map(([name, list]) => [idOf(name), list]))
  const read = ({ row }: Model): Target[] =>
    (ways.get(row.id) ?? [row.provider]).map((target) => {
      const [provider = '', ...rest] = target.split('/')
      return { provider, upstreamModel: rest.length > 0 ? rest.join('/') : row.upstream_model }
    })
  const done = new WeakMap<Model, Target[]>()
  return (model) => {
    let found = done.get(model)
    if (found === undefined) done.set(model, (found = read(model)))
    return found
  }
}

/** The routes of a model through configured providers; a model without other routes has a standby for test keys. */
function createRoutesOf(
  { providers, replayed, sandbox }: Options,
  targets: (model: Model) => readonly Target[],
): (model: Model, caller: Caller) => readonly Route[] {
  const providerOf = {
    live: (id: string) => providers.get(id),
    test: (_id: string, index: number) => sandbox.routes[index],
    replay: (id: string) => replayed().get(id),
  }
  const read = (model: Model, source: keyof typeof providerOf): Route[] => {
    const routes = targets(model).flatMap(({ provider: id, upstreamModel }, index) => {
      const provider = providerOf[source](id, index)
      return provider === undefined ? [] : { model, provider, upstreamModel }
    })
    if (source !== 'test' || routes.length !== 1) return routes
    return [...routes, { ...routes[0]!, provider: sandbox.standby }]
  }
  const newMap = () => new WeakMap<Model, Route[]>()
  const known = { live: newMap(), test: newMap(), replay: newMap() }
  return (model, caller) => {
    const source = replays(caller) ? 'replay' : caller.mode
    let routes = known[source].get(model)
    if (routes === undefined) known[source].set(model, (routes = read(model, source)))
    return routes
  }
}

const reload =
  'A running gateway reloads .env on SIGHUP or by "Reload the settings" in the dashboard.'

function notConfigured(
  { row }: Model,
  targets: readonly Target[],
  settingFor: Options['settingFor'],
): GatewayError {
  const settings = targets.map(({ provider }) => settingFor(provider))
  const known = settings.filter((setting) => setting !== undefined)
  const remedy =
    known.length > 0
      ? `Set ${known.join(' or ')} to enable it, or use a test key. ${reload}`
      : 'Add a route to it in gateway.yaml, or use a test key.'
  return new GatewayError(
    'no_provider_configured',
    `No provider of the model '${row.id}' is configured. ${remedy}`,
    { param: 'model', retryAfterSeconds: 60, progress: { model: row } },
  )
}

/**
 * The check of which models a key may call. Compares model ids, so requests and the key's list may use any name of a model. `idOf` returns
 * the id of a model by any of its names, or an unknown name unchanged.
 */
function createKeyModels(idOf: (name: string) => string) {
  // The ids of a key's list are cached as long as the caller object lives.
  const known = new WeakMap<readonly string[], ReadonlySet<string>>()
  const idsOf = (models: readonly string[]) => {
    let ids = known.get(models)
    if (ids === undefined) known.set(models, (ids = new Set(models.map(idOf))))
    return ids
  }
  const mayUse = ({ row }: Model, { models }: Caller): boolean =>
    models === null || models.includes(row.id) || idsOf(models).has(row.id)
  return {
    mayUse,
    /** Throws `model_not_allowed` for a model that the key may not call. */
    check: (model: Model, caller: Caller): void => {
      if (mayUse(model, caller)) return
      if (caller.isSandboxOnly) {
        const text =
          'By your limit in this account, your keys, sessions and connections may call only the sandbox. ' +
          'Use a test key (mag_test_…), or connect again, or ask an administrator of the account to lift the limit.'
        throw new GatewayError('model_not_allowed', text)
      }
      throw new GatewayError(
        'model_not_allowed',
        `This API key may not use the model '${model.row.id}'. Choose another model or another key.`,
        { param: 'model', progress: { model: model.row } },
      )
    },
  }
}
