import { Router } from '@koa/router'
import { createAccounts, type Accounts } from './accounts/accounts.ts'
import { createIdentify } from './accounts/identify.ts'
import { createLedger } from './accounts/ledger.ts'
import { createCatalog, readCatalogRows } from './catalog/catalog.ts'
import { createRouteTable } from './catalog/routes.ts'
import type { Config } from './config.ts'
import { GatewayError } from './core/error.ts'
import { createGateway } from './core/gateway.ts'
import { bindOperations } from './http/contract-router.ts'
import type { ExchangeState } from './http/exchange.ts'
import { createHttpServer, type GatewayServer } from './http/server.ts'
import { mcpOperations } from './mcp/index.ts'
import { bindPages } from './pages/index.ts'
import { createFinish } from './pictures/finish.ts'
import { createGuardedFetch } from './pictures/guarded-fetch.ts'
import { createReadSources } from './pictures/read-source.ts'
import { createRateLimit } from './policy/rate-limit.ts'
import { createResponseCache } from './policy/response-cache.ts'
import { createProviders, settingFor } from './providers/index.ts'
import { openStore, type Store } from './storage/store.ts'
import { createEvents, type Events } from './telemetry/events.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { v1Forms, v1Operations } from './v1/index.ts'

export type Assembled = {
  server: GatewayServer
  accounts: Accounts
  store: Store
  events: Events
  providerIds: readonly string[]
  /** Ends what the server leaves behind, after it has drained. */
  close: () => Promise<void>
}

type Options = { config: Config; log: Log; clock?: () => number }

/** Builds each part once, in the order in which they need each other. */
export async function assemble({ config, log, clock = Date.now }: Options): Promise<Assembled> {
  const { limits, endpoints } = config
  const metrics = createMetrics()
  const events = createEvents(log, metrics)
  const store = await openStore(config)
  const accounts = createAccounts(store, clock)
  const identify = createIdentify({ store, clock, ...limits })
  const writeRow = createLedger(store, limits.ledgerGroupRowsMax)

  const catalog = createCatalog({
    rows: readCatalogRows(),
    undescribed: endpoints.flatMap(({ id, models }) =>
      models === 'catalog' ? [] : { provider: id, models },
    ),
    aliases: config.aliases,
    defaultImageModel: config.defaultImageModel,
    clock,
  })
  const guarded = createGuardedFetch({
    connectTimeoutMs: limits.fetchConnectTimeoutMs,
    idleTimeoutMs: limits.fetchIdleTimeoutMs,
    totalTimeoutMs: limits.fetchTotalTimeoutMs,
    redirectsMax: limits.fetchRedirectsMax,
    connectionsMax: limits.upstreamConnectionsMax,
  })
  const routesMax = Math.max(1, ...Object.values(config.routes).map((routes) => routes.length))
  const providers = createProviders(endpoints, limits, routesMax, guarded.fetch)
  const routes = createRouteTable({
    catalog,
    providers: providers.configured,
    sandbox: providers.sandbox,
    routes: config.routes,
    settingFor,
  })

  const cache = createResponseCache({
    bytesMax: limits.cacheBytesMax,
    entryBytesMax: limits.cacheEntryBytesMax,
    ttlMs: limits.cacheTtlSeconds * 1000,
    onError: events.cacheFailed,
  })
  const gateway = createGateway({
    admit: createRateLimit(limits.requestsPerMinute),
    recall: cache.recall,
    remember: cache.remember,
    routes: routes.routes,
    findModel: (id) => catalog.find(id).model,
    report: events.attempted,
    record: async (row) => {
      await writeRow(row)
      events.recorded(row)
    },
    finishPicture: createFinish(limits),
    clock,
    limits,
  })

  const readSources = createReadSources(guarded, limits)
  const router = new Router<ExchangeState>()
  const handlers = {
    ...v1Operations({ gateway, catalog, routes, readSources, clock }),
    ...mcpOperations(),
  }
  bindOperations(router, {
    handlers,
    forms: v1Forms,
    identify,
    bodyBytesMax: limits.requestBytesMax,
  })
  const server = createHttpServer({ router, limits, onExchange: events.exchanged, clock })
  const checkReady = async () => {
    if (server.draining()) throw new GatewayError('overloaded', 'The gateway is shutting down.')
    await store.db.selectFrom('accounts').select('id').limit(1).execute()
  }
  bindPages(router, { metrics, metricsToken: config.metricsToken, checkReady })

  const close = async () => {
    await providers.close()
    await guarded.close()
    await store.close()
  }
  return { server, accounts, store, events, providerIds: [...providers.configured.keys()], close }
}
