import { hash } from 'node:crypto'
import { callerOfKey } from '../accounts/identify.ts'
import { configuredCatalog, configuredRows, readCatalogRows } from '../catalog/catalog.ts'
import { createImageForm } from '../catalog/image-form.ts'
import { createParameters } from '../catalog/model-parameters.ts'
import { createPriceOf } from '../catalog/route-price.ts'
import { createRouteTable } from '../catalog/routes.ts'
import { createVendorModels } from '../catalog/vendor-models.ts'
import type { Config, Secrets } from '../settings/config.ts'
import { createDeadlines } from '../core/resilience/deadline.ts'
import { createGateway, type GatewayParts } from '../core/gateway.ts'
import type { Admission } from '../core/limits.ts'
import { createReferenceCount, type ReferenceCount } from '../core/resilience/ending.ts'
import type { Provider } from '../core/route.ts'
import { createClientAddress, type ClientAddress } from '../http/client-address.ts'
import type { InForce, Operations } from '../http/contract-router.ts'
import { createOriginRule, type AllowsOrigin } from '../mcp/origin.ts'
import type { BoundTool, ToolsInForce } from '../mcp/tool.ts'
import { createTools } from '../mcp/tools/index.ts'
import { checkNamedPicture as checkPicture } from '../pictures/check-picture.ts'
import { createConversion, createDecoder } from '../pictures/finish.ts'
import { createReadSources } from '../pictures/read-source.ts'
import { createShrink } from '../pictures/shrink.ts'
import { createRouteOrder } from '../policy/route-order.ts'
import { createProviders, writeChatOf } from '../providers/create-providers.ts'
import { namePrefixes as prefixes, settingFor, vendorFacts as factsOf } from '../providers/index.ts'
import { jobInUse } from '../v1/image-jobs/create-job.ts'
import { createTakeOver, type TakeOver } from '../v1/image-jobs/take-over.ts'
import { v1Operations, type V1Operations } from '../v1/index.ts'
import type { Calls } from './calls.ts'
import type { Environment, StoreParts } from './store.ts'

/** The settings and the objects built from them; each reload builds a new generation. */
export type Generation = InForce &
  ToolsInForce & {
    /** Finishes a job of a process that has ended. */
    takeOver: TakeOver
    config: Config
    secrets: Secrets
    models: Models
    allowsOrigin: AllowsOrigin
    addressOf: ClientAddress
    providerIds: readonly string[]
    /** Closes resources that no later generation uses, after the last call or the timeout. */
    end(timeoutMs: number): Promise<void>
  }

/** The catalog, the providers, their routes, and the readers of input pictures. */
type Models = ReturnType<typeof modelsOf>

/** The current settings, which replace the settings at the start. */
type Settings = Pick<Environment, 'config' | 'secrets'>

type Options = Settings & {
  environment: Environment
  store: Pick<StoreParts, 'store'>
  calls: Calls
  moreTools: readonly BoundTool[]
  /** `operations` has those that a reload keeps. */
  faces: { operations: Omit<Operations, keyof V1Operations> }
}

/** Builds a generation from the settings. */
export function createGeneration(options: Options): Generation {
  const { config, secrets, environment, calls, moreTools, faces } = options
  const { clock } = environment
  const { uploads, pixelQueue } = calls
  const { faulted: onFault } = environment.events
  const { pictureDays } = config.limits
  const underWay = createReferenceCount()
  const models = modelsOf({ config, secrets }, calls, environment)
  const gatewayParts = gatewayPartsOf(options, models, underWay)
  const gateway = createGateway(gatewayParts)
  const { catalog, routes, providers } = models
  return {
    config,
    secrets,
    models,
    enter: underWay.enter,
    leave: underWay.leave,
    operations: {
      ...v1Operations({ ...calls, ...models, gateway, pictureDays, clock, onFault }),
      ...faces.operations,
    },
    answerInUse: (error, call) => jobInUse(error, call, calls),
    takeOver: takeOverOf(options, gatewayParts, underWay),
    ...createTools({
      gateway,
      catalog,
      routes,
      shrink: createShrink(pixelQueue),
      uploads,
      defaultImageModel: config.defaultToolImageModel,
      moreTools,
      limits: config.limits,
      clock,
    }),
    allowsOrigin: createOriginRule(config),
    addressOf: createClientAddress(config.trustedProxies),
    providerIds: [...providers.configured.keys()],
    end: async (timeoutMs) => {
      await underWay.emptied(timeoutMs)
      await providers.close()
    },
  }
}

function modelsOf({ config, secrets }: Settings, calls: Calls, { clock, monotonic }: Environment) {
  const { limits, endpoints } = config
  const { guarded, pixelQueue, lines } = calls
  const listed = readCatalogRows()
  const catalog = configuredCatalog({ ...config, rows: listed, prefixes, clock })
  const { rows } = configuredRows({ ...config, rows: listed, prefixes })
  const readSources = createReadSources(guarded, createDecoder(pixelQueue))
  const routesMax = Math.max(1, ...Object.values(config.routes).map((routes) => routes.length))
  const providers = createProviders({
    endpoints,
    keys: secrets.providerKeys,
    limits,
    pixelQueue,
    sandboxRoutesMax: routesMax,
    fetchPublic: guarded.fetch,
    readSources,
    clock,
    lines,
  })
  const vendorModels = createVendorModels({
    lists: listsOf(providers.configured),
    prefixes,
    limits,
    monotonic,
  })
  const routes = createRouteTable({
    catalog,
    vendorModels,
    providers: providers.configured,
    replayed: providers.replayed,
    sandbox: providers.sandbox,
    routes: config.routes,
    factsOf,
    settingFor,
  })
  const parametersOf = createParameters({ factsOf, writeChat: writeChatOf })
  return {
    rows,
    catalog,
    parametersOf,
    imageFormOf: createImageForm(parametersOf),
    vendorModels,
    providers,
    routes,
    readSources,
  }
}

type ListModels = NonNullable<Provider['listModels']>

/** The vendors' own lists of models. */
function listsOf(providers: ReadonlyMap<string, Provider>): Map<string, ListModels> {
  const lists = [...providers].flatMap(([id, { listModels }]) =>
    listModels === undefined ? [] : [[id, listModels] as const],
  )
  return new Map(lists)
}

/** A call that was admitted by the process that began it. */
const admitted: Admission = { limits: () => [], end: () => {} }

function takeOverOf(
  { environment, calls, store: { store } }: Options,
  parts: GatewayParts,
  underWay: ReferenceCount,
): TakeOver {
  const { clock, memoryBudget, events } = environment
  const takeOver = createTakeOver({
    ...calls,
    gatewayAt: (startedAt) =>
      createGateway({ ...parts, admit: () => admitted, clock: () => startedAt }),
    callerOf: (keyId) => callerOfKey(store, keyId),
    openMemory: memoryBudget.open,
    clock,
    onFault: events.faulted,
  })
  return async (job) => {
    underWay.enter()
    await takeOver(job).finally(underWay.leave)
  }
}

/** The dependencies of the core's gateway. */
function gatewayPartsOf(
  { config, environment, calls, store: { store } }: Options,
  models: Models,
  underWay: ReferenceCount,
): GatewayParts {
  const { events, clock, monotonic, sleep, random } = environment
  const { limits, routeOrder } = config
  const { catalog, vendorModels, routes, readSources } = models
  const {
    rateLimit,
    budgets,
    cache,
    record,
    mark,
    deduplication,
    pixelQueue,
    health,
    abandonedCalls,
  } = calls
  const { cassettes, webhooks } = calls
  const priceOf = createPriceOf(models.rows, clock)
  return {
    admit: rateLimit.admit,
    openCassette: cassettes.open,
    playedFor: calls.providerStates.playedFor,
    settingsDigest: digestOf(config),
    ...cache,
    find: routes.find,
    checkPicture,
    routes: routes.routes,
    orderRoutes: createRouteOrder({ by: routeOrder, isOpen: health.isOpen, priceOf }),
    failover: { limits, health, sleep, random },
    ...deduplication,
    findModel: (id) => catalog.get(id) ?? vendorModels.find(id),
    report: (attempt, context, isStream) => {
      webhooks.attempted(attempt, context)
      events.attempted(attempt, context, isStream)
    },
    assertWritable: store.assertWritable,
    record,
    mark,
    reserve: budgets.reserve,
    abandonedCalls,
    onRouted: events.routed,
    onFault: events.faulted,
    readSources,
    shrinkPicture: createShrink(pixelQueue),
    conversion: createConversion(pixelQueue, 2 * environment.memoryBudget.pictureBytesMax),
    startDeadline: createDeadlines({ occupancy: underWay }),
    clock,
    monotonic,
    limits,
  }
}

/** A digest for cache keys, without prices, limits and keys, which keep cached answers valid. */
function digestOf({ aliases, defaultImageModel, endpoints, routes, catalog }: Config): string {
  const described = Object.entries(catalog).map(([name, entry]) => [name, { ...entry, pricing: 0 }])
  const all = [aliases, defaultImageModel, endpoints, routes, described]
  return hash('sha256', JSON.stringify(all))
}
