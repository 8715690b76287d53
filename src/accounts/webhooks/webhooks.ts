import { sql, type Kysely } from 'kysely'
import type { components } from '../../../generated/types.ts'
import type { Actor } from '../../core/caller.ts'
import { GatewayError } from '../../core/error.ts'
import { orderedId } from '../../core/ordered-id.ts'
import type { PageRequest } from '../../core/page.ts'
import type { Encryption } from '../../storage/encryption.ts'
import type { Tables, WebhookDeliveriesTable, WebhooksTable } from '../../storage/tables.ts'
import type { ChangeParts } from '../audit.ts'
import { newId } from '../id.ts'
import { timeForm, timeText } from '../key-form.ts'
import { countOf, listPage } from '../list-page.ts'
import { removeRows } from '../sweep.ts'
import { attemptsOf, endPending, retriesMax, type Deliverer } from './deliverer.ts'
import { assertAddress, assertEvents, invalid, shownUrl, type Receivers } from './destinations.ts'
import { newSecret, sealedSecrets, secretsOf } from './secrets.ts'

type Schemas = components['schemas']
type Webhook = Schemas['Webhook']
type Delivery = WebhookDeliveriesTable
type AuditAction = Extract<Schemas['AuditAction'], `webhook.${string}`>

type Options = Omit<ChangeParts, 'announce'> &
  Receivers & {
    encryption: Encryption
    deliverer: Pick<Deliverer, 'look'>
  }

/** The id of a webhook of an account. */
type Which = { accountId: string; id: string }

export type Webhooks = ReturnType<typeof createWebhooks>

/** Enough for the programs of an account; each event is a row for each of them. */
const webhooksPerAccountMax = 20
const noSecret =
  'The webhook has no secret: its messages are not signed. Change its address: PATCH /api/webhooks/{id}.'
/** How long the previous secret also signs. */
const overlapMs = 86_400_000

/** The webhooks of accounts (docs/webhooks.md). */
export function createWebhooks(options: Options) {
  const { audit, clock } = options
  const { db } = options.store
  const form = (row: WebhooksTable) => webhookForm(row, clock())
  return {
    list: (accountId: string, page: PageRequest) =>
      listPage(webhooksOf(db, accountId), page, { time: 'created_at', toItem: form }),
    /** Throws `not_found` for a missing webhook, as the other functions do. */
    retrieve: async (which: Which) => form(await find(db, which)),
    /** Returns the secret once. Throws `invalid_value` for an address that is not public. */
    create: async (by: Actor, accountId: string, asked: Schemas['NewWebhook']) => {
      const webhook = { ...asked, kind: asked.kind ?? 'webhook' }
      assertEvents(webhook)
      await assertAddress(options, webhook.kind, webhook.url)
      const { row, secret } = await insert(options, by, accountId, webhook)
      return { ...form(row), secret }
    },
    update: async (by: Actor, which: Which, changes: Schemas['WebhookChange']) => {
      const { kind, mode, ...before } = await find(db, which)
      const { url, events = eventsOf(before) } = changes
      assertEvents({ kind, mode, events })
      if (url !== undefined) await assertAddress(options, kind, url)
      return form(await update(options, by, which, changes))
    },
    remove: async (by: Actor, which: Which) => {
      await db.transaction().execute(async (transaction) => {
        const before = await find(transaction, which)
        await transaction.deleteFrom('webhooks').where('id', '=', which.id).execute()
        const act = { ...actOn('webhook.delete', which), before: auditValues(before) }
        await audit.write(transaction, by, act)
      })
      await removeRows(db, 'webhook_deliveries', sql`webhook_id = ${which.id}`)
    },
    /** Replaces the secret, and returns the new one once; the previous one also signs for a day. */
    rotate: async (by: Actor, which: Which) => {
      const { row, secret } = await rotate(options, by, which)
      return { ...form(row), secret }
    },
    ...deliveryOperations(options),
  }
}

/** The deliveries of a webhook. */
function deliveryOperations({ store: { db }, deliverer, clock }: Options) {
  return {
    deliveries: async (which: Which, page: PageRequest, state?: Delivery['state']) => {
      await find(db, which)
      const rows = deliveriesOf(db, which)
      const found = state === undefined ? rows : rows.where('state', '=', state)
      return listPage(found, page, { time: 'created_at', toItem: deliveryForm })
    },
    /** Queues a test event, which is tried once, unless one is pending. */
    test: async (which: Which) => {
      const { account_id } = await find(db, which)
      const pending = await deliveriesOf(db, which)
        .where('account_id', '=', account_id)
        .where('next_at', '>', 0)
        .where('type', '=', 'webhook.test')
        .executeTakeFirst()
      if (pending !== undefined) return deliveryForm(pending)
      const now = clock()
      const row: Delivery = {
        id: orderedId('evt', now),
        webhook_id: which.id,
        account_id,
        type: 'webhook.test',
        object_id: which.id,
        created_at: now,
        state: 'pending',
        next_at: now,
        claimed: 0,
        tries: retriesMax,
        attempts: '[]',
      }
      await db.insertInto('webhook_deliveries').values(row).execute()
      void deliverer.look()
      return deliveryForm(row)
    },
    /** Sends an event again, unless it is being sent. Throws `invalid_value` for a disabled webhook. */
    redeliver: async (which: Which, deliveryId: string) => {
      const { enabled } = await find(db, which)
      if (enabled === 0) {
        const text = 'The webhook is disabled. Enable it first: PATCH /api/webhooks/{id}.'
        throw invalid('id', text)
      }
      const now = clock()
      await db
        .updateTable('webhook_deliveries')
        .set({ state: 'pending', next_at: now, claimed: 0, tries: 0 })
        .where((one) => one.and({ id: deliveryId, webhook_id: which.id }))
        .where((one) => one.or([one('claimed', '=', 0), one('next_at', '<=', now)]))
        .execute()
      const row = await deliveriesOf(db, which).where('id', '=', deliveryId).executeTakeFirst()
      if (row === undefined) {
        const text =
          'The webhook has no such delivery. GET /api/webhooks/{id}/deliveries lists those of 30 days.'
        throw new GatewayError('not_found', text, { param: 'delivery_id' })
      }
      void deliverer.look()
      return deliveryForm(row)
    },
  }
}

type WithSecret = { row: WebhooksTable; secret: string }

async function insert(
  options: Options,
  by: Actor,
  accountId: string,
  { name, url, kind, mode, events }: Schemas['NewWebhook'] & Pick<Schemas['Webhook'], 'kind'>,
): Promise<WithSecret> {
  const { store, audit, encryption, clock } = options
  const place = { id: newId('whk'), account_id: accountId }
  const secret = kind === 'webhook' ? newSecret() : ''
  const row: WebhooksTable = {
    ...place,
    kind,
    name,
    url: shownUrl(kind, url),
    mode,
    events: eventsText(events),
    enabled: 1,
    gone_at: null,
    ...sealedSecrets(encryption, [kind === 'slack' ? url : secret], place),
    previous_secret_until: null,
    created_at: clock(),
    created_by: by.id,
  }
  await store.db.transaction().execute(async (transaction) => {
    const count = await countOf(webhooksOf(transaction, accountId))
    if (count >= webhooksPerAccountMax) {
      const text = `An account can have ${webhooksPerAccountMax} webhooks. Delete one first.`
      throw new GatewayError('invalid_value', text)
    }
    await transaction.insertInto('webhooks').values(row).execute()
    const act = { ...actOn('webhook.create', { accountId, id: row.id }), after: auditValues(row) }
    await audit.write(transaction, by, act)
  })
  return { row, secret }
}

function rotate(options: Options, by: Actor, which: Which): Promise<WithSecret> {
  const { store, audit, encryption, clock } = options
  return store.db.transaction().execute(async (transaction) => {
    const before = await find(transaction, which)
    if (before.kind !== 'webhook') throw invalid('id', noSecret)
    const [now, secret] = [clock(), newSecret()]
    const [previous] = secretsOf(encryption, before, now)
    const changed = {
      ...sealedSecrets(encryption, previous ? [secret, previous] : [secret], before),
      previous_secret_until: previous ? now + overlapMs : null,
    }
    await transaction.updateTable('webhooks').set(changed).where('id', '=', which.id).execute()
    await audit.write(transaction, by, actOn('webhook.rotate', which))
    return { row: { ...before, ...changed }, secret }
  })
}

function update(
  { store, audit, encryption }: Options,
  by: Actor,
  which: Which,
  { events, enabled, name, url }: Schemas['WebhookChange'],
): Promise<WebhooksTable> {
  return store.db.transaction().execute(async (transaction) => {
    const before = await find(transaction, which)
    const changed = {
      ...before,
      ...(name === undefined ? {} : { name }),
      ...(url === undefined ? {} : { url: shownUrl(before.kind, url) }),
      ...(url !== undefined && before.kind === 'slack'
        ? sealedSecrets(encryption, [url], before)
        : {}),
      ...(events === undefined ? {} : { events: eventsText(events) }),
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0, gone_at: null }),
    }
    await transaction.updateTable('webhooks').set(changed).where('id', '=', which.id).execute()
    if (changed.enabled === 0) await endPending(transaction, which.id)
    const values = { before: auditValues(before), after: auditValues(changed) }
    await audit.write(transaction, by, { ...actOn('webhook.update', which), ...values })
    return changed
  })
}

function actOn(action: AuditAction, { accountId: account_id, id: target }: Which) {
  return { action, account_id, target }
}

/** The values of an audit event. The path and query of an address may contain a secret. */
function auditValues(row: WebhooksTable): object {
  const { name, mode, enabled, kind } = row
  const host = kind === 'email' ? row.url.replace(/^.*@/, '') : new URL(row.url).host
  return { name, kind, host, mode, events: eventsOf(row), enabled: enabled === 1 }
}

function webhooksOf(db: Kysely<Tables>, accountId: string) {
  return db.selectFrom('webhooks').selectAll().where('account_id', '=', accountId)
}

function deliveriesOf(db: Kysely<Tables>, { id }: Which) {
  return db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', id)
}

async function find(db: Kysely<Tables>, { accountId, id }: Which): Promise<WebhooksTable> {
  const row = await webhooksOf(db, accountId).where('id', '=', id).executeTakeFirst()
  if (row !== undefined) return row
  const text = 'The account has no such webhook. GET /api/webhooks lists them.'
  throw new GatewayError('not_found', text, { param: 'id' })
}

function webhookForm(row: WebhooksTable, now: number): Webhook {
  const until = row.previous_secret_until
  return {
    id: row.id,
    object: 'webhook',
    account_id: row.account_id,
    kind: row.kind,
    name: row.name,
    url: row.url,
    mode: row.mode,
    events: eventsOf(row),
    enabled: row.enabled === 1,
    gone_at: timeForm(row.gone_at),
    previous_secret_until: until !== null && now < until ? timeText(until) : null,
    created_by: row.created_by,
    created_at: timeText(row.created_at),
  }
}

function deliveryForm(row: Delivery): Schemas['WebhookDelivery'] {
  return {
    id: row.id,
    object: 'webhook_delivery',
    webhook_id: row.webhook_id,
    // `publishing` and `test` write this column.
    type: row.type as Schemas['AnyWebhookType'],
    object_id: row.object_id,
    state: row.state,
    created_at: timeText(row.created_at),
    next_attempt_at: timeForm(row.next_at),
    attempts: attemptsOf(row),
  }
}

function eventsText(events: Webhook['events']): string {
  return JSON.stringify([...new Set(events)])
}

function eventsOf({ events }: Pick<WebhooksTable, 'events'>): Webhook['events'] {
  // `eventsText` wrote this column.
  return JSON.parse(events) as Webhook['events']
}
