import type { Webhooks } from '../accounts/webhooks/webhooks.ts'
import type { Caller } from '../core/caller.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf } from '../http/operation.ts'
import { createdSecret, ok } from './answers.ts'

/** Dependencies of the operations on webhooks. */
export type WebhookParts = { webhooks: Webhooks }

/** The handlers of an account's webhooks and their deliveries. */
export function webhookOperations({ webhooks }: WebhookParts) {
  return {
    listWebhooks: async ({ caller: { accountId }, query }) =>
      ok(await webhooks.list(accountId, query)),
    createWebhook: async (call) =>
      createdSecret(await webhooks.create(actorOf(call), call.caller.accountId, call.body)),
    retrieveWebhook: async (call) => ok(await webhooks.retrieve(webhookIn(call))),
    updateWebhook: async (call) =>
      ok(await webhooks.update(actorOf(call), webhookIn(call), call.body)),
    deleteWebhook: async (call) => {
      await webhooks.remove(actorOf(call), webhookIn(call))
      return { status: 204 }
    },
    rotateWebhookSecret: async (call) =>
      createdSecret(await webhooks.rotate(actorOf(call), webhookIn(call))),
    testWebhook: async (call) => ({ status: 202, json: await webhooks.test(webhookIn(call)) }),
    listWebhookDeliveries: async (call) => {
      const { state, ...page } = call.query
      return ok(await webhooks.deliveries(webhookIn(call), page, state))
    },
    redeliverWebhook: async (call) => ({
      status: 202,
      json: await webhooks.redeliver(webhookIn(call), call.path.delivery_id),
    }),
  } satisfies Partial<Operations>
}

function webhookIn({ caller: { accountId }, path: { id } }: Call): {
  accountId: string
  id: string
} {
  return { accountId, id }
}

type Call = { caller: Caller; path: { id: string } }
