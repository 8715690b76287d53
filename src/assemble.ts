import { Router } from '@koa/router'
import { createAccounts, type Accounts } from './accounts/accounts.ts'
import { createIdentify } from './accounts/identify.ts'
import { createKeyWatch } from './accounts/key-watch.ts'
import { createLedger } from './accounts/ledger.ts'
import { createBudget, type Budget } from './bytes/budget.ts'
import { collectAfter } from './bytes/collection.ts'
import { configuredCatalog, readCatalogRows, retiringDefaults } from './catalog/catalog.ts'
import { createPriceOf } from './catalog/route-price.ts'
import { createRouteTable } from './catalog/routes.ts'
import { createVendorModels } from './catalog/vendor-models.ts'
import type { Config, Secrets } from './config.ts'
import { GatewayError } from './core/error.ts'
import { pause, type FailoverPolicy } from './core/failover.ts'
import { createGateway, type Gateway } from './core/gateway.ts'
import type { CatalogModel } from './core/model.ts'
import type { Provider } from './core/route.ts'
import { createContractRouter, errorAnswersByPath, loadContract } from './http/contract-router.ts'
import { createCrossOrigin } from './http/cross-origin.ts'
import { errorAnswer } from './http/error-answer.ts'
import type { ExchangeState } from './http/exchange.ts'
import { createSecurity } from './http/security.ts'
import { createHttpServer, type GatewayServer } from './http/server.ts'
import { createToolServer, type ToolServer } from './mcp/index.ts'
import type { BoundTool } from './mcp/tool.ts'
import { bindPages } from './pages/index.ts'
import { createCheckPicture } from './pictures/check-picture.ts'
import { createDarkroom, createFinish } from './pictures/finish.ts'
import { createGuardedFetch, type PublicNet } from './pictures/guarded-fetch.ts'
import { createReadSources } from './pictures/read-source.ts'
import { createRateLimit } from './policy/rate-limit.ts'
import { createResponseCache } from './policy/response-cache.ts'
import { createRouteHealth } from './policy/route-health.ts'
import { createRouteOrder } from './policy/route-order.ts'
import { createProviders } from './providers/create-providers.ts'
import { imageConfigOf, namePrefixes, settingFor } from './providers/index.ts'
import { guardStore, type GuardedStore } from './storage/store-guard.ts'
import { openStore, type Store } from './storage/store.ts'
import { createEvents, type Events } from './telemetry/events.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { v1Forms, v1Operations } from './v1/index.ts'

type Assembled = {
  server: GatewayServer
  accounts: Accounts
  store: Store
  events: Events
  toolServer: ToolServer
  providerIds: readonly string[]
  /** Models that the settings name and that end, or are not there. */
  retiring: readonly string[]
  /** Closes what the server uses; to be called after it has drained. */
  close: () => Promise<void>
}

type Options = {
  config: Config
  secrets: Secrets
  log: Log
  /** Unix time in milliseconds: dates of the catalog, of keys, of rows. */
  clock?: () => number
  /** Milliseconds from any start that nobody sets: whatever lasts for a while is measured with it. */
  monotonic?: () => number
  sleep?: FailoverPolicy['sleep']
  random?: () => number
  /** How addresses that callers name are resolved, checked and reached; for tests. */
  publicNet?: PublicNet
  /** Tools beside those of mcp-tools.json. */
  moreTools?: readonly BoundTool[]
  /** Collects garbage; thoroughly where nothing else is to do. */
  collect?: ((isIdle: boolean) => void) | undefined
}

/** Whole milliseconds since the process began. */
const elapsed = () => Math.trunc(performance.now())

/** Builds each part once, in the order of their dependencies. */
export async function assemble({
  config,
  secrets,
  log,
  clock = Date.now,
  monotonic = elapsed,
  sleep = pause,
  random = Math.random,
  publicNet = {},
  moreTools = [],
  collect,
}: Options): Promise<Assembled> {
  const { limits } = config
  const budget = budgetOf({ limits, monotonic, collect })
  const metrics = createMetrics({ bufferedBytes: budget.bytes })
  const events = createEvents(log, metrics)
  // Both are slow and independent of each other.
  const [opened, loaded] = await Promise.all([openStore(config), loadContract()])
  for (const notice of opened.notices) events.storeNoticed(notice)
  const store = await guardStore({ store: opened, config, monotonic, events })
  const accounts = createAccounts(store, clock)
  const identify = createIdentify({ store, clock, monotonic, ...limits })
  const keyWatch = createKeyWatch({ store, clock, ...limits })
  const parts = models({ config, secrets, clock, monotonic, publicNet, budget })
  const { catalog, providers, routes, guarded, checkPicture } = parts
  const gateway = gatewayOf({ config, clock, monotonic, sleep, random, store, events, parts })

  const onFailure = events.toolFailed
  const face = { config, gateway, catalog, routes, moreTools, onFailure, clock, monotonic }
  const toolServer = createToolServer(face)
  const handlers = {
    ...v1Operations({ gateway, catalog, routes, imageConfigOf, checkPicture, clock }),
    ...toolServer.operations,
  }
  const contract = createContractRouter(loaded, {
    handlers,
    forms: v1Forms,
    security: createSecurity(identify),
    limits,
  })
  const router = new Router<ExchangeState>({ sensitive: true })
  const server = createHttpServer({
    contract,
    router,
    limits,
    errorAnswerAt: errorAnswersByPath({ rest: errorAnswer, 'json-rpc': toolServer.errorAnswer }),
    allowCrossOrigin: createCrossOrigin({ '/v1/': () => '*', '/mcp': toolServer.allowedOrigin }),
    onDrain: toolServer.close,
    events,
    budget,
    followKey: keyWatch.follow,
    monotonic,
  })
  const readMetrics = () => {
    log.settle()
    return metrics.read()
  }
  const checkReady = readiness(server, store)
  bindPages(router, { readMetrics, metricsToken: secrets.metricsToken, checkReady })

  const close = async () => {
    keyWatch.close()
    await providers.close()
    await guarded.close()
    await store.close()
  }
  const providerIds = [...providers.configured.keys()]
  const retiring = retiringDefaults(catalog, config)
  return { server, accounts, store, events, toolServer, providerIds, retiring, close }
}

type BudgetParts = Pick<Options, 'collect'> & {
  limits: Config['limits']
  monotonic: () => number
}

/** The bytes that all requests together may hold. */
function budgetOf({ limits, monotonic, collect }: BudgetParts): Budget {
  return createBudget({
    bytesMax: limits.bufferedBytesMax,
    graceMs: limits.slowPeerGraceMs,
    now: monotonic,
    ...(collect === undefined ? {} : { onGiven: collectAfter(collect) }),
  })
}

/** Throws `overloaded` while the server drains, `internal_error` when the store does not answer. */
function readiness(server: GatewayServer, store: GuardedStore): () => Promise<void> {
  return async () => {
    if (server.draining()) throw new GatewayError('overloaded', 'The gateway is shutting down.')
    await store.checkWritable()
  }
}

type ModelsOptions = Required<
  Pick<Options, 'config' | 'secrets' | 'clock' | 'monotonic' | 'publicNet'>
> & { budget: Budget }

/** The catalog, the providers, the routes between them, and what fetches and reads pictures. */
function models({ config, secrets, clock, monotonic, publicNet, budget }: ModelsOptions) {
  const { limits, endpoints } = config
  const rows = readCatalogRows()
  const catalog = configuredCatalog({ ...config, rows, prefixes: namePrefixes, clock })
  const guarded = createGuardedFetch({
    connectTimeoutMs: limits.fetchConnectTimeoutMs,
    idleTimeoutMs: limits.fetchIdleTimeoutMs,
    totalTimeoutMs: limits.fetchTotalTimeoutMs,
    redirectsMax: limits.fetchRedirectsMax,
    connectionsMax: limits.upstreamConnectionsMax,
    ...publicNet,
  })
  const darkroom = createDarkroom(limits, budget)
  const readSources = createReadSources({ fetch: guarded.fetch, limits })
  const routesMax = Math.max(1, ...Object.values(config.routes).map((routes) => routes.length))
  const providers = createProviders({
    endpoints,
    keys: secrets.providerKeys,
    limits,
    darkroom,
    sandboxRoutesMax: routesMax,
    fetchPublic: guarded.fetch,
    readSources,
    clock,
    monotonic,
  })
  const vendorModels = createVendorModels({
    lists: listsOf(providers.configured),
    prefixes: namePrefixes,
    limits,
    monotonic,
  })
  const routes = createRouteTable({
    catalog,
    vendorModels,
    providers: providers.configured,
    sandbox: providers.sandbox,
    routes: config.routes,
    settingFor,
  })
  const checkPicture = createCheckPicture(limits)
  return {
    rows,
    catalog,
    vendorModels,
    providers,
    routes,
    guarded,
    darkroom,
    readSources,
    checkPicture,
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

type GatewayOptions = RoutingOptions & {
  store: GuardedStore
  events: Events
  parts: ReturnType<typeof models>
}

/** The core's gateway with its dependencies. */
function gatewayOf({ store, events, parts, ...options }: Omit<GatewayOptions, 'rows'>): Gateway {
  const { limits } = options.config
  const { rows, catalog, vendorModels, routes, darkroom, readSources } = parts
  const cache = createResponseCache({
    bytesMax: limits.cacheBytesMax,
    entryBytesMax: limits.cacheEntryBytesMax,
    ttlMs: limits.cacheTtlSeconds * 1000,
    clock: options.clock,
    monotonic: options.monotonic,
  })
  return createGateway({
    admit: createRateLimit(limits.requestsPerMinute, options.monotonic),
    recall: cache.recall,
    remember: cache.remember,
    routes: routes.routes,
    ...routing({ ...options, rows }),
    // What was answered is in the catalog, else in a vendor's list.
    findModel: (id) => catalog.get(id) ?? vendorModels.find(id)!,
    report: events.attempted,
    assertKeeps: store.assertKeeps,
    record: createLedger(store, limits, events.recorded),
    onFault: events.faulted,
    readSources,
    finishPicture: createFinish(darkroom),
    clock: options.clock,
    monotonic: options.monotonic,
    limits,
  })
}

type RoutingOptions = Required<
  Pick<Options, 'config' | 'clock' | 'monotonic' | 'sleep' | 'random'>
> & {
  rows: readonly CatalogModel[]
}

/** The order of routes and the failover policy. */
function routing({ config, rows, clock, monotonic, sleep, random }: RoutingOptions) {
  const { limits, routeOrder } = config
  const health = createRouteHealth({ limits, monotonic })
  const priceOf = createPriceOf(rows, clock)
  return {
    orderRoutes: createRouteOrder({ by: routeOrder, isOpen: health.isOpen, priceOf }),
    failover: { limits, health, sleep, random },
  }
}
