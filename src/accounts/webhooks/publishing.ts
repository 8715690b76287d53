import { sql, type RawBuilder } from 'kysely'
import type { components } from '../../../generated/types.ts'
import type { Mode } from '../../core/caller.ts'
import { orderedId } from '../../core/ordered-id.ts'

/** An event that an account's webhooks report; `objectId` is the id of the job, response or alert. */
export type WebhookEvent = {
  accountId: string
  mode: Mode
  type: components['schemas']['WebhookEventType']
  objectId: string
}

/**
 * The statement that queues an event for each webhook that receives it, under a condition. It belongs in the
 * transaction that makes the event true, so that both are committed or neither.
 *
 * @example
 * await publishing({ accountId, mode, type: 'response.failed', objectId }, clock()).execute(transaction)
 */
export function publishing(
  { accountId, mode, type, objectId }: WebhookEvent,
  now: number,
  condition: RawBuilder<unknown> = sql`1 = 1`,
): RawBuilder<unknown> {
  const at = sql`cast(${now} as bigint)`
  // Each delivery has its own id: that of the event, with digits of the id of the webhook.
  return sql`insert into webhook_deliveries (id, webhook_id, account_id, type, object_id, created_at,
      state, next_at, tries, attempts)
    select ${orderedId('evt', now)} || substr(id, 5, 12), id, account_id, ${type}, ${objectId}, ${at},
      'pending', ${at}, 0, '[]'
    from webhooks
    where account_id = ${accountId} and mode = ${mode} and enabled = 1
      and events like ${`%"${type}"%`} and ${condition}`
}
