import { createProviderFailures } from '../accounts/alerts/provider-failures.ts'
import { sweepAlerts } from '../accounts/alerts/sweep-alerts.ts'
import { createAudit } from '../accounts/audit.ts'
import { createDeliverer } from '../accounts/webhooks/deliverer.ts'
import { sweepDeliveries } from '../accounts/webhooks/delivery-history.ts'
import { createSendMail } from '../accounts/webhooks/send-mail.ts'
import { createWebhooks } from '../accounts/webhooks/webhooks.ts'
import type { GuardedFetch } from '../pictures/guarded-fetch.ts'
import { siteAddress } from '../settings/config.ts'
import type { Environment, StoreParts } from './store.ts'

type WebhookParts = Pick<StoreParts, 'store' | 'encryption'> & { guarded: GuardedFetch }

/** The webhooks of accounts, what sends their events, and what notices alerts. */
export function assembleWebhooks(
  {
    config,
    secrets: { smtpUrl },
    events,
    clock,
    monotonic,
  }: Pick<Environment, 'config' | 'secrets' | 'events' | 'clock' | 'monotonic'>,
  { guarded, ...stored }: WebhookParts,
) {
  const { limits, mailFrom } = config
  const dashboard = `${siteAddress(config)}/dashboard`
  const parts = { ...stored, audit: createAudit(stored.store, clock), dashboard, limits, clock }
  const sendMail =
    smtpUrl === undefined || mailFrom === undefined
      ? undefined
      : createSendMail(smtpUrl, mailFrom, clock)
  const deliverer = createDeliverer({
    ...parts,
    post: guarded.post,
    sendMail,
    monotonic,
    onLooked: (error) => events.worked('webhook_deliveries', error),
    onAttempt: events.webhookAttempted,
  })
  const history = sweepDeliveries({
    ...parts,
    onSwept: (error) => events.worked('webhook_history', error),
  })
  const failures = createProviderFailures(clock)
  const alerts = sweepAlerts({
    ...parts,
    failures,
    onQueued: () => void deliverer.look(),
    onSwept: (error) => events.worked('alerts', error),
  })
  const { refusalOf } = guarded
  const sendsMail = sendMail !== undefined
  return {
    ...createWebhooks({ ...parts, refusalOf, deliverer, sendsMail }),
    look: deliverer.look,
    /** Counts attempts for alerts. */
    attempted: failures.count,
    close: () => {
      history.close()
      alerts.close()
      return deliverer.close()
    },
  }
}
