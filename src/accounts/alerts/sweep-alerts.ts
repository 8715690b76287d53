import { hash } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import { insertNew } from '../../storage/insert-new.ts'
import { listed } from '../../storage/sql-dialect.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables } from '../../storage/tables.ts'
import { sweepAgain, takeTurn, type Sweep } from '../sweep.ts'
import { publishing } from '../webhooks/publishing.ts'
import { readCrossings, type Crossing } from './crossings.ts'
import type { ProviderFailures } from './provider-failures.ts'

type Options = {
  store: Pick<Store, 'db'>
  failures: ProviderFailures
  clock: () => number
  /** The address of the dashboard. */
  dashboard: string
  limits: { alertSweepMs: number }
  /** Called after alerts were queued. */
  onQueued: () => void
  onSwept: (error?: unknown) => void
}

/**
 * Publishes alerts to the accounts with webhooks for them (docs/webhooks.md#alerts). One of several processes reads the
 * store; each counts its own attempts at providers.
 */
export function sweepAlerts(options: Options): Sweep {
  const { store, failures, clock, limits, onQueued, onSwept } = options
  const { db } = store
  const intervalMs = limits.alertSweepMs
  const sweep = async (): Promise<boolean> => {
    const { rows } = await sql<{ id: string }>`select distinct account_id as id from webhooks
      where enabled = 1 and mode = 'live' and events like '%"alert.%'`.execute(db)
    const accountIds = new Set(rows.map(({ id }) => id))
    failures.watch(accountIds)
    if (accountIds.size === 0) return false
    const now = clock()
    const found = failures.crossings()
    // Half the interval, since timers of one process may differ by a millisecond.
    if (await takeTurn(db, 'alerts', now, intervalMs / 2))
      found.push(...(await readCrossings(db, [...accountIds], now)))
    if (await publish(options, found, now)) onQueued()
    return true
  }
  return sweepAgain(sweep, { intervalMs, onSwept })
}

/** Publishes the crossings that no process has published. Returns whether there was one. */
async function publish(
  { store: { db }, dashboard }: Options,
  crossings: readonly Crossing[],
  now: number,
): Promise<boolean> {
  const named = new Map(crossings.map((one) => [idOf(one), one]))
  for (const id of await published(db, [...named.keys()])) named.delete(id)
  for (const [id, { accountId, type, subject, text, page, percent, budget, endsAt }] of named) {
    const isPassed = [...named.values()].some((one) => isHigher(one, { subject, percent }))
    const link = dashboard + page
    const about = { account_id: accountId, subject, text, link }
    const data = { ...about, percent: percent ?? null, budget: budget ?? null }
    const row = { id, account_id: accountId, ends_at: endsAt, data: JSON.stringify(data) }
    await db.transaction().execute(async (transaction) => {
      const isNew = await insertNew(transaction, 'alerts', row)
      if (!isNew || isPassed) return
      await publishing({ accountId, mode: 'live', type, objectId: id }, now).execute(transaction)
    })
  }
  return named.size > 0
}

/** Whether the budget has also passed a higher threshold, which alone is reported. */
function isHigher(
  one: Crossing,
  { subject, percent }: Pick<Crossing, 'subject' | 'percent'>,
): boolean {
  return percent !== undefined && one.subject === subject && (one.percent ?? 0) > percent
}

async function published(db: Kysely<Tables>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = db.selectFrom('alerts').select('id').where('id', 'in', listed(db, ids))
  return (await rows.execute()).map(({ id }) => id)
}

/** Equal for equal crossings in all processes; a changed budget is another one. */
function idOf({ accountId, type, subject, startsAt, percent, budget }: Crossing): string {
  const amount = budget && `${budget.amount.usd} ${budget.period}`
  const name = [accountId, type, subject, startsAt, percent, amount]
  return `alert_${hash('sha256', JSON.stringify(name)).slice(0, 32)}`
}
