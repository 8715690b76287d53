import { createRecentAttempts } from '../accounts/usage/recent-attempts.ts'
import type { DescribeCatalog, DescribeProviders } from '../api/settings.ts'
import { describeCatalog } from '../catalog/overview.ts'
import { createPriceOf } from '../catalog/route-price.ts'
import { createRouteOrder } from '../policy/route-order.ts'
import type { Health } from '../policy/route-health.ts'
import { vendorOf } from '../providers/index.ts'
import { describeProviders } from '../providers/overview.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { Generation } from './generation.ts'

type Options = {
  store: Pick<GuardedStore, 'reader'>
  health: Pick<Health, 'circuitOf' | 'troubled'>
  current: () => Pick<Generation, 'config' | 'models'>
  clock: () => number
  monotonic: () => number
}

/** What is told of the catalog and of the providers, with what the ledger knows of their last hour. */
export function assembleOverviews({ store, health, current, clock, monotonic }: Options) {
  const readRecent = createRecentAttempts({ reader: store.reader, clock, monotonic })
  const describeModels: DescribeCatalog = async (caller, name) => {
    const recent = await readRecent()
    const { config, models } = current()
    const priceOf = createPriceOf(models.rows, clock)
    const order = createRouteOrder({ by: config.routeOrder, isOpen: () => false, priceOf })
    const nameOf = (id: string) => vendorOf(id)?.name ?? id
    const { circuitOf } = health
    return describeCatalog({ ...models, order, nameOf, circuitOf, clock }, caller, { name, recent })
  }
  const describeAll: DescribeProviders = async () => {
    const recent = await readRecent()
    const { config, models } = current()
    const listed = models.catalog.list({}, () => true).models
    const counts = Map.groupBy(
      listed.flatMap((model) => [
        ...new Set(models.routes.ways(model).map(({ provider }) => provider.id)),
      ]),
      (id) => id,
    )
    return describeProviders({
      endpoints: config.endpoints,
      models: (id) => counts.get(id)?.length ?? 0,
      troubled: health.troubled,
      recent,
      nowMs: clock(),
    })
  }
  return { describeCatalog: describeModels, describeProviders: describeAll }
}
