import type { Allowance } from '../core/caller.ts'
import type { AccountsTable, AllowanceColumns, ApiKeysTable } from '../storage/tables.ts'

/** The columns of an account or key without limits of its own. */
export const noAllowance: AllowanceColumns = {
  requests_per_minute: null,
  tokens_per_minute: null,
  images_per_minute: null,
  concurrency: null,
  budget_nano_usd: null,
  budget_period: null,
}

/** What the row of an account or key allows. */
export function allowanceOf(row: AccountsTable | ApiKeysTable): Allowance {
  const { budget_nano_usd: nanoUsd, budget_period: period } = row
  return {
    ownerId: row.id,
    limits: {
      requestsPerMinute: row.requests_per_minute,
      tokensPerMinute: row.tokens_per_minute,
      imagesPerMinute: row.images_per_minute,
      concurrency: row.concurrency,
    },
    budget: nanoUsd === null || period === null ? null : { nanoUsd, period },
  }
}

/** What an owner without limits of its own may use. */
export function unlimited(ownerId: string): Allowance {
  const limits = {
    requestsPerMinute: null,
    tokensPerMinute: null,
    imagesPerMinute: null,
    concurrency: null,
  }
  return { ownerId, limits, budget: null }
}
