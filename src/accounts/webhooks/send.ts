import type { Kysely } from 'kysely'
import type { Encryption } from '../../storage/encryption.ts'
import type { Store } from '../../storage/store.ts'
import type { Tables, WebhookDeliveriesTable, WebhooksTable } from '../../storage/tables.ts'
import { messageOf, slackBody, type AlertData, type EventData } from './messages.ts'
import { secretsOf, signedHeaders } from './secrets.ts'
import type { SendMail, Sent, SentBounds } from './send-mail.ts'

type Delivery = WebhookDeliveriesTable
type Request = { headers: Readonly<Record<string, string>>; body: string } & SentBounds

/** Posts to an address that an account entered; `error` is a sentence without secrets. Never rejects. */
export type Post = (address: string, request: Request) => Promise<Answer>
export type Answer = Sent & { retryAfterSeconds?: number | undefined }

export type SendingOptions = {
  store: Pick<Store, 'db'>
  encryption: Encryption
  post: Post
  /** Absent without a mail server. */
  sendMail: SendMail | undefined
  /** The address of the dashboard, for messages to people. */
  dashboard: string
  limits: { webhookAnswerTimeoutMs: number }
  clock: () => number
}

const cannotDecrypt = {
  webhook: 'The secret of the webhook cannot be decrypted. Rotate the secret.',
  slack: 'The address of the webhook cannot be decrypted. Enter it again.',
} as const

type Sending = { delivery: Delivery; webhook: WebhooksTable; closing: AbortSignal }

/** Sends an event once to what the address of its webhook is. Never rejects, unless the store fails. */
export async function send(options: SendingOptions, sending: Sending): Promise<Answer> {
  const { store, encryption, post, sendMail, dashboard, limits, clock } = options
  const { delivery, webhook, closing: signal } = sending
  const { id, type, created_at: at, account_id: accountId } = delivery
  const now = clock()
  const bounds = { timeoutMs: limits.webhookAnswerTimeoutMs, signal }
  const data = await dataOf(store.db, delivery)
  const message = messageOf(type, data, dashboard)
  if (webhook.kind === 'email') {
    const mail = { to: webhook.url.slice('mailto:'.length), id, accountId, ...message }
    return sendMail?.(mail, bounds) ?? { error: 'This gateway has no mail server.' }
  }
  const secrets = secretsOf(encryption, webhook, now)
  if (secrets.length === 0) return { error: cannotDecrypt[webhook.kind] }
  if (webhook.kind === 'slack') {
    const headers = { 'content-type': 'application/json' }
    return post(secrets[0]!, { headers, body: slackBody(message), ...bounds })
  }
  const timestamp = new Date(at).toISOString()
  const body = JSON.stringify({ type, timestamp, data })
  const headers = signedHeaders(secrets, { id, body, now })
  return post(webhook.url, { headers, body, ...bounds })
}

/** What an event is about: the id of its object, and the words and numbers of an alert. */
async function dataOf(db: Kysely<Tables>, { object_id: id }: Delivery): Promise<EventData> {
  const alert = await db.selectFrom('alerts').select('data').where('id', '=', id).executeTakeFirst()
  // `sweepAlerts` wrote this column.
  return { id, ...(alert && (JSON.parse(alert.data) as AlertData)) }
}
