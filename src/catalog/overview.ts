import type { components } from '../../generated/types.ts'
import { measuresOf, type RecentAttempts, type TimedAttempt } from '../core/attempt-measures.ts'
import type { Caller } from '../core/caller.ts'
import { ModelNotFound } from '../core/words/model-not-found.ts'
import {
  toModel,
  modalityOf,
  type Catalog,
  type ImageFormOf,
  type Model,
  type Target,
} from '../core/model.ts'
import type { RouteTable, Way, Ways } from '../core/route.ts'
import type { ParametersOf } from './model-parameters.ts'

type Schemas = components['schemas']

type Options = {
  catalog: Pick<Catalog, 'get' | 'list' | 'describe'>
  routes: Ways & Pick<RouteTable, 'find'>
  order: (ways: readonly Way[]) => readonly Way[]
  parametersOf: ParametersOf
  imageFormOf: ImageFormOf
  nameOf: (providerId: string) => string
  circuitOf: (target: Target) => { state: Schemas['CircuitState']; leftMs: number }
  clock: () => number
}

/** The models that a caller may use, or only the model `name`, with routes. Throws `model_not_found`. */
export function describeCatalog(
  options: Options,
  caller: Caller,
  { name, recent }: { name: string | undefined; recent: RecentAttempts | undefined },
): Schemas['CatalogList'] {
  const { catalog, routes } = options
  const models =
    name === undefined
      ? catalog.list({ includeDeactivated: true }, (model) => routes.mayUse(model, caller)).models
      : [catalog.describe(findModel(options, caller, name))]
  const attempts = Map.groupBy(recent?.attempts ?? [], routeKeyOf)
  const data = models.map((model) => entryOf(model, attempts, options))
  return { object: 'list', measured: recent?.measured ?? null, data }
}

/** A model that the caller may use, even if deactivated. Throws `model_not_found`. */
function findModel({ catalog, routes }: Options, caller: Caller, name: string): Model {
  const model = catalog.get(name) ?? routes.find(name, caller).model
  if (model === undefined || !routes.mayUse(model, caller)) throw new ModelNotFound(name)
  return model
}

type ByRoute = ReadonlyMap<string, readonly TimedAttempt[]>

function entryOf(model: Model, attempts: ByRoute, options: Options): Schemas['CatalogEntry'] {
  const ways = options.order(options.routes.ways(model))
  const [first] = ways
  return {
    model: toModel(model, options.imageFormOf),
    modality: modalityOf(model),
    is_usable: model.row.status !== 'deactivated' && ways.some(({ isConfigured }) => isConfigured),
    parameters: first === undefined ? [] : options.parametersOf({ ...first, model }),
    routes: ways.map((way) => routeOf(way, attempts, options)),
  }
}

function routeOf(way: Way, attempts: ByRoute, options: Options): Schemas['CatalogRoute'] {
  const { id } = way.provider
  const { state, leftMs } = options.circuitOf(way)
  return {
    provider: id,
    provider_name: options.nameOf(id),
    upstream_model: way.upstreamModel,
    is_configured: way.isConfigured,
    circuit: state,
    circuit_until: state === 'open' ? new Date(options.clock() + leftMs).toISOString() : null,
    health: measuresOf(
      attempts.get(routeKeyOf({ provider: id, upstreamModel: way.upstreamModel })) ?? [],
    ),
  }
}

type RouteName = Pick<TimedAttempt, 'provider' | 'upstreamModel'>

function routeKeyOf({ provider, upstreamModel }: RouteName): string {
  return `${provider}/${upstreamModel}`
}
