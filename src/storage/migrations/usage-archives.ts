import { integer, text, type Table } from './columns.ts'

/** What `archive` has removed from the ledger; `usage_hours` keeps the sums of these calls. */
export const archiveTables = {
  usage_archives: {
    columns: {
      account_id: text,
      mode: text,
      /** The start of the month in which the calls began. */
      month_at: integer,
      calls: integer,
      cost_nano_usd: integer,
    },
    key: { usage_archives_key: ['account_id', 'mode', 'month_at'] },
  },
} satisfies Record<string, Table>
