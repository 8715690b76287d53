import { createHash } from 'node:crypto'
import type { components } from '../../generated/types.ts'
import { publishing, type WebhookEvent } from '../../src/accounts/webhooks/publishing.ts'
import type { TestGateway } from './gateway.ts'
import { until } from './until.ts'

type Schemas = components['schemas']
export type Created = Schemas['CreatedWebhook']
type Delivery = Schemas['WebhookDelivery']

/** Creates a webhook for all events of responses. */
export async function createWebhook(
  gateway: TestGateway,
  url: string,
  more: Partial<Schemas['NewWebhook']> = {},
): Promise<Created> {
  const events = ['response.completed', 'response.failed']
  const body = { name: 'server', url, mode: 'live', events, ...more }
  const response = await gateway.post('/api/webhooks', body, { key: gateway.adminKey })
  if (response.status !== 201) throw new Error(await response.text())
  return (await response.json()) as Created
}

/** Publishes an event as the end of a response does. */
export async function publish(
  { db }: Pick<TestGateway, 'db'>,
  { account_id: accountId, mode }: Pick<Created, 'account_id' | 'mode'>,
  now: number,
  more: Partial<WebhookEvent> = {},
): Promise<void> {
  const event = {
    accountId,
    mode,
    type: 'response.completed',
    objectId: 'resp_1',
    ...more,
  } as const
  await publishing(event, now).execute(db)
}

/** The deliveries of a webhook, oldest first. */
export async function deliveriesOf(
  gateway: TestGateway,
  { id }: Pick<Created, 'id'>,
  query = '',
): Promise<Delivery[]> {
  const path = `/api/webhooks/${id}/deliveries?order=asc&limit=100${query}`
  const response = await gateway.fetch(path, { key: gateway.adminKey })
  return ((await response.json()) as Schemas['WebhookDeliveryList']).data
}

/** Waits until the first delivery of a webhook has this number of attempts, and returns it. */
export async function attempted(
  gateway: TestGateway,
  webhook: Pick<Created, 'id'>,
  count: number,
): Promise<Delivery> {
  let [first] = await deliveriesOf(gateway, webhook)
  await until(`${count} attempts were made`, async () => {
    first = (await deliveriesOf(gateway, webhook))[0]
    return first?.attempts.length === count
  })
  return first!
}

/** A name for a host of one test. */
export function hostOf(title = ''): string {
  return `${createHash('sha256').update(title).digest('hex').slice(0, 12)}.example`
}
