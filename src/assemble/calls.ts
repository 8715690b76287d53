import { createLedger } from '../accounts/ledger.ts'
import { createPriceOf } from '../catalog/route-price.ts'
import type { Config } from '../config.ts'
import type { FailoverPolicy } from '../core/failover.ts'
import { createGateway, type Gateway } from '../core/gateway.ts'
import type { CatalogModel } from '../core/model.ts'
import { createFinish } from '../pictures/finish.ts'
import { createRateLimit } from '../policy/rate-limit.ts'
import { createResponseCache } from '../policy/response-cache.ts'
import { createRouteHealth } from '../policy/route-health.ts'
import { createRouteOrder } from '../policy/route-order.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'
import type { Models } from './models.ts'

type Options = Omit<RoutingOptions, 'rows'> & {
  store: GuardedStore
  events: Events
  parts: Models
}

/** The core's gateway with its dependencies. */
export function assembleCalls({ store, events, parts, ...options }: Options): Gateway {
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

type RoutingOptions = {
  config: Config
  clock: () => number
  monotonic: () => number
  sleep: FailoverPolicy['sleep']
  random: () => number
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
