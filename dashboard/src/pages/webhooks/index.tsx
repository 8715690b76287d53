import { nameInPlace } from '../../data/place.ts'
import { WebhookList } from './list.tsx'
import { OneWebhook } from './one.tsx'

/** Webhooks of the account: the list, or one with its deliveries. */
export function Page() {
  const id = nameInPlace()
  return id === undefined ? <WebhookList /> : <OneWebhook key={id} id={id} />
}
