import {
  bytes,
  id,
  idIn,
  integer,
  integerOrZero,
  oneOf,
  optionalInteger,
  text,
  type Table,
} from './columns.ts'

/** Webhooks, and the outbox of their events, which is also the history. */
export const webhookTables = {
  webhooks: {
    columns: {
      id,
      account_id: idIn('accounts'),
      name: text,
      url: text,
      mode: oneOf<'live' | 'test'>(),
      events: text,
      enabled: integer,
      gone_at: optionalInteger,
      encryption_key_id: text,
      ciphertext: bytes,
      previous_secret_until: optionalInteger,
      created_at: integer,
      created_by: text,
    },
    indexes: { webhooks_account: ['account_id', 'created_at', 'id'] },
  },
  webhook_deliveries: {
    columns: {
      id,
      webhook_id: text,
      account_id: text,
      type: text,
      object_id: text,
      created_at: integer,
      state: oneOf<'pending' | 'delivered' | 'failed'>(),
      /** When the next attempt is due, or when the claim of the running one ends; null for an ended delivery. */
      next_at: optionalInteger,
      claimed: integerOrZero,
      tries: integer,
      attempts: text,
    },
    indexes: {
      webhook_deliveries_webhook: ['webhook_id', 'created_at', 'id'],
      webhook_deliveries_next: ['account_id', 'next_at', 'id'],
      webhook_deliveries_next_at: ['next_at'],
      webhook_deliveries_created_at: ['created_at'],
    },
  },
} satisfies Record<string, Table>
