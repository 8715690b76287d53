import { hash } from 'node:crypto'
import { createPriceOf } from '../catalog/route-price.ts'
import type { Config } from '../config.ts'
import { createDeadlines } from '../core/deadline.ts'
import type { LeftCalls } from '../core/ending.ts'
import type { FailoverPolicy } from '../core/failover.ts'
import { createGateway, type Gateway } from '../core/gateway.ts'
import type { ReferenceCount } from '../core/reference-count.ts'
import { createFinish } from '../pictures/finish.ts'
import { createRouteOrder } from '../policy/route-order.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Events } from '../telemetry/events.ts'
import type { Lasting } from './lasting.ts'
import type { Models } from './models.ts'

type Options = {
  config: Config
  store: GuardedStore
  events: Events
  lasting: Lasting
  leftCalls: LeftCalls
  parts: Models
  /** Counts the calls under way. */
  occupancy: ReferenceCount
  clock: () => number
  monotonic: () => number
  sleep: FailoverPolicy['sleep']
  random: () => number
}

/** The core's gateway with its dependencies. */
export function assembleCalls(options: Options): Gateway {
  const { config, store, events, lasting, leftCalls, parts, occupancy, clock, monotonic } = options
  const { limits } = config
  const { catalog, vendorModels, routes, readSources } = parts
  const { rateLimit, budgets, cache, record, recollection, darkroom } = lasting
  return createGateway({
    admit: (...call) => rateLimit.admit(...call),
    settingsDigest: digestOf(config),
    ...cache,
    routes: routes.routes,
    ...routing(options),
    ...recollection,
    // What was answered is in the catalog, else in a vendor's list.
    findModel: (id) => catalog.get(id) ?? vendorModels.find(id),
    report: events.attempted,
    assertKeeps: store.assertKeeps,
    record,
    reserve: budgets.reserve,
    leftCalls,
    onFault: events.faulted,
    readSources,
    finishPicture: createFinish(darkroom),
    startDeadline: createDeadlines({ occupancy }),
    clock,
    monotonic,
    limits,
  })
}

/** Prices, limits and keys are not in it: what was answered before they changed is still true. */
function digestOf({ aliases, defaultImageModel, endpoints, routes, catalog }: Config): string {
  const described = Object.entries(catalog).map(([name, entry]) => [name, { ...entry, pricing: 0 }])
  const all = [aliases, defaultImageModel, endpoints, routes, described]
  return hash('sha256', JSON.stringify(all))
}

/** The order of routes and the failover policy. */
function routing({ config, parts, lasting, clock, sleep, random }: Options) {
  const { limits, routeOrder } = config
  const { health } = lasting
  const priceOf = createPriceOf(parts.rows, clock)
  return {
    orderRoutes: createRouteOrder({ by: routeOrder, isOpen: health.isOpen, priceOf }),
    failover: { limits, health, sleep, random },
  }
}
