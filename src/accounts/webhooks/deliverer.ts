import { sql, type Kysely, type Transaction } from 'kysely'
import type { components } from '../../../generated/types.ts'
import type { Actor } from '../../core/caller.ts'
import { listed } from '../../storage/sql-dialect.ts'
import type { Tables, WebhookDeliveriesTable, WebhooksTable } from '../../storage/tables.ts'
import type { Audit } from '../audit.ts'
import { sweepAgain } from '../sweep.ts'
import { send, type Answer, type SendingOptions } from './send.ts'

type Attempt = components['schemas']['WebhookAttempt']
type Delivery = WebhookDeliveriesTable
type Options = SendingOptions & {
  audit: Pick<Audit, 'write'>
  limits: { webhookLookMs: number }
  monotonic: () => number
  /** Called after each round; `error` is the reason if the store failed. */
  onLooked: (error?: unknown) => void
  onAttempt: (outcome: Outcome) => void
}

export type Outcome = 'delivered' | 'failed' | 'gone'

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** The pauses after each failed try (https://www.standardwebhooks.com, "Deliverability and reliability"). */
const pausesMs = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
] as const
/** The most tries of a delivery; one that begins with this number is not retried. */
export const retriesMax = pausesMs.length
/** The longest pause, whatever `Retry-After` says. */
export const pauseMaxMs = Math.max(...pausesMs)

/** How long a claim lasts: longer than the timeout of the answer, with the time that a busy store needs. */
const claimMs = 60_000
/** Requests in progress of this process, and of one account: slow receivers of few accounts delay no other. */
const concurrentMax = 32
const concurrentPerAccountMax = 4
/** Attempts that a delivery lists: those of its schedule and of a few redeliveries. */
const attemptsMax = 20

/** While nothing is due, the store is asked at this look only: another process may have left a delivery. */
const idleLooks = 10

/** The actor of changes that the gateway makes itself. */
const gatewayActor: Actor = { id: 'gateway', address: null }

export type Deliverer = {
  /** Sends what is due now, without waiting for the answers. Never rejects. */
  look(): Promise<void>
  /** Ends the requests in progress; another process, or the next start, sends them again. */
  close(): Promise<void>
}

/**
 * Sends the due deliveries of all accounts. A process claims a delivery for a minute in the statement that selects it,
 * so that one of several processes sends it; if the process dies, it is sent again when the claim has ended.
 */
export function createDeliverer(options: Options): Deliverer {
  const { store, limits, clock, onLooked } = options
  const closing = new AbortController()
  const { signal } = closing
  const byAccount = new Map<string, number>()
  const running = new Set<Promise<void>>()
  /** Whether there may be something to send: an event was queued, or a delivery of an account with others ended. */
  let isCalled = true
  let idle = { until: 0, looks: 0 }
  const look = () => {
    isCalled = true
    return sweep.look()
  }
  const start = (delivery: Delivery): void => {
    const { account_id: accountId } = delivery
    byAccount.set(accountId, (byAccount.get(accountId) ?? 0) + 1)
    // When the store fails, the delivery is sent again after its claim.
    const run = deliver(options, delivery, signal).catch(onLooked)
    const done = run.finally(() => {
      running.delete(done)
      const left = byAccount.get(accountId)! - 1
      if (left > 0) byAccount.set(accountId, left)
      else byAccount.delete(accountId)
      if (!signal.aborted) void look()
    })
    running.add(done)
  }
  const work = async (): Promise<boolean> => {
    if (!isCalled && clock() < idle.until && ++idle.looks < idleLooks) return false
    while (!signal.aborted && running.size < concurrentMax) {
      const busy = [...byAccount].filter(([, count]) => count >= concurrentPerAccountMax)
      const but = busy.map(([accountId]) => accountId)
      const most = concurrentMax - running.size
      isCalled = false
      const due = await claimDue(store.db, { now: clock(), but, most })
      due.forEach(start)
      if (due.length > 0) continue
      idle = { until: await nextDue(store.db), looks: 0 }
      if (!isCalled) break
    }
    return true
  }
  const sweep = sweepAgain(work, { intervalMs: limits.webhookLookMs, onSwept: onLooked })
  return {
    look,
    close: async () => {
      sweep.close()
      closing.abort()
      await sweep.look()
      await Promise.all(running)
    },
  }
}

/** When the next delivery is due, or the claim of one ends. */
async function nextDue(db: Kysely<Tables>): Promise<number> {
  const first = db.selectFrom('webhook_deliveries').select('next_at').where('next_at', '>', 0)
  return (await first.orderBy('next_at').limit(1).executeTakeFirst())?.next_at ?? Infinity
}

type Claim = { now: number; but: readonly string[]; most: number }

/** Claims one due delivery of each of these accounts, in a random order, so that no account delays others. */
async function claimDue(db: Kysely<Tables>, { now, but, most }: Claim): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`update webhook_deliveries
    set next_at = ${now + claimMs}, claimed = 1, tries = tries + 1
    where next_at <= ${now} and id in (
      select due from (
        select (select id from webhook_deliveries as one where one.account_id = each_account.account_id
          and one.next_at <= ${now} order by one.next_at, one.id limit 1) as due
        from (select distinct account_id from webhooks
          where exists (select 1 from webhook_deliveries where next_at <= ${now})
            and account_id not in ${listed(db, but)}) as each_account
      ) as each_due
      where due is not null order by random() limit ${sql.lit(most)})
    returning *`.execute(db)
  return rows
}

async function deliver(options: Options, delivery: Delivery, closing: AbortSignal): Promise<void> {
  const { store, clock, monotonic, onAttempt } = options
  const { db } = store
  const webhook = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', delivery.webhook_id)
    .executeTakeFirst()
  // The webhook is being deleted.
  if (webhook === undefined) return change(db, delivery, { state: 'failed', next_at: null })
  const [at, startedAt] = [clock(), monotonic()]
  const answer = await send(options, { delivery, webhook, closing })
  if (closing.aborted && 'error' in answer)
    return change(db, delivery, { next_at: at, tries: delivery.tries - 1 })
  const status = 'status' in answer ? answer.status : null
  const isDelivered = status !== null && status >= 200 && status < 300
  const attempt: Attempt = {
    at: new Date(at).toISOString(),
    status,
    error: isDelivered ? null : failureText(answer),
    duration_ms: Math.round(monotonic() - startedAt),
  }
  const pauseMs = isDelivered || status === 410 ? undefined : pauseOf(delivery.tries, answer)
  await change(db, delivery, {
    state: isDelivered ? 'delivered' : pauseMs === undefined ? 'failed' : 'pending',
    next_at: pauseMs === undefined ? null : clock() + pauseMs,
    attempts: JSON.stringify([...attemptsOf(delivery), attempt].slice(-attemptsMax)),
  })
  if (status === 410) await disable(options, webhook)
  onAttempt(isDelivered ? 'delivered' : status === 410 ? 'gone' : 'failed')
}

function failureText(answer: Answer): string {
  if ('error' in answer) return answer.error
  const { status } = answer
  const isRedirect = status >= 300 && status < 400
  return `The receiver answered ${status}${isRedirect ? '; redirects are not followed' : ''}.`
}

/** The pause after a failed try; undefined after the last. */
function pauseOf(tries: number, answer: Answer): number | undefined {
  const pauseMs = pausesMs[tries - 1]
  const { retryAfterSeconds = 0 } = 'status' in answer ? answer : {}
  return pauseMs && Math.min(Math.max(pauseMs, retryAfterSeconds * secondMs), pauseMaxMs)
}

/** The attempts that a delivery lists. */
export function attemptsOf({ attempts }: Pick<Delivery, 'attempts'>): Attempt[] {
  // `deliver` writes this column.
  return JSON.parse(attempts) as Attempt[]
}

/** Changes a delivery unless its claim has ended. */
async function change(
  db: Kysely<Tables>,
  { id, next_at: claimedUntil }: Delivery,
  columns: Partial<Delivery>,
): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ ...columns, claimed: 0 })
    .where('id', '=', id)
    .where('next_at', '=', claimedUntil)
    .execute()
}

/** Disables a webhook whose receiver answered 410, unless its address has changed. */
async function disable({ store, audit, clock }: Options, webhook: WebhooksTable): Promise<void> {
  await store.db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable('webhooks')
      .set({ enabled: 0, gone_at: clock() })
      .where('id', '=', webhook.id)
      .where('url', '=', webhook.url)
      .where('enabled', '=', 1)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    await endPending(transaction, webhook.id)
    await audit.write(transaction, gatewayActor, {
      account_id: webhook.account_id,
      action: 'webhook.update',
      target: webhook.id,
      before: { enabled: true },
      after: { enabled: false, reason: 'The receiver answered 410.' },
    })
  })
}

/** Ends the pending deliveries of a webhook. */
export async function endPending(
  transaction: Transaction<Tables>,
  webhookId: string,
): Promise<void> {
  await transaction
    .updateTable('webhook_deliveries')
    .set({ state: 'failed', next_at: null, claimed: 0 })
    .where('webhook_id', '=', webhookId)
    .where('next_at', 'is not', null)
    .execute()
}
