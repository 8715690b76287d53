import { id, idIn, integer, oneOf, text, type Table } from './columns.ts'

/** What the address of a webhook is: a column of `webhooks`. */
export const kindOfWebhook = {
  kind: oneOf<'webhook' | 'slack' | 'email'>(" default 'webhook' not null"),
}

/** The alerts that were published; the id is made of what happened, so that nothing is published twice. */
export const alertTables = {
  alerts: {
    columns: {
      id,
      account_id: idIn('accounts'),
      ends_at: integer,
      data: text,
    },
    indexes: { alerts_ends_at: ['ends_at'] },
  },
} satisfies Record<string, Table>
