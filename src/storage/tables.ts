import {
  accountTables,
  keptPrompts,
  memberLimits,
  playedStates,
  refusingBudget,
  tagBudgets,
  type allowanceColumns,
} from './migrations/account-tables.ts'
import { leaseTables } from './migrations/budget-leases.ts'
import { callTables, tagsOfCall } from './migrations/call-tables.ts'
import type { Column, Row, Table } from './migrations/columns.ts'
import { identityTables, passkeyTables } from './migrations/identity-tables.ts'
import { pictureTables } from './migrations/picture-files.ts'
import { jobTables, responseOwner } from './migrations/job-tables.ts'
import { cassetteOfKey, cassetteTables } from './migrations/cassettes.ts'
import { archiveTables } from './migrations/usage-archives.ts'
import { alertTables, kindOfWebhook } from './migrations/alerts.ts'
import { sumTables } from './migrations/usage-sums.ts'
import { webhookTables } from './migrations/webhook-tables.ts'

/**
 * All tables, with the columns of version 0.1 and of later migrations; src/storage/README.md describes each column
 * and how long rows are kept. An export has their order: a row follows the rows that it refers to, and budget
 * windows follow the rows that triggers would add to them.
 */
export const tables = {
  ...accountTables,
  accounts: {
    ...accountTables.accounts,
    columns: { ...accountTables.accounts.columns, ...keptPrompts },
  },
  api_keys: {
    ...accountTables.api_keys,
    columns: {
      ...accountTables.api_keys.columns,
      ...cassetteOfKey,
      ...playedStates,
      ...tagBudgets,
    },
  },
  members: {
    ...accountTables.members,
    columns: { ...accountTables.members.columns, ...memberLimits },
  },
  invitations: {
    ...accountTables.invitations,
    columns: { ...accountTables.invitations.columns, ...memberLimits },
  },
  refusals: {
    ...accountTables.refusals,
    columns: { ...accountTables.refusals.columns, ...refusingBudget },
  },
  ...callTables,
  ...sumTables,
  reservations: {
    ...callTables.reservations,
    columns: { ...callTables.reservations.columns, ...tagsOfCall },
  },
  usage: { ...callTables.usage, columns: { ...callTables.usage.columns, ...tagsOfCall } },
  stored_responses: {
    ...callTables.stored_responses,
    columns: { ...callTables.stored_responses.columns, ...responseOwner },
  },
  ...jobTables,
  ...pictureTables,
  ...webhookTables,
  webhooks: {
    ...webhookTables.webhooks,
    columns: { ...webhookTables.webhooks.columns, ...kindOfWebhook },
  },
  ...alertTables,
  ...cassetteTables,
  ...archiveTables,
  ...identityTables,
  ...passkeyTables,
  ...leaseTables,
}

/** The rows of all tables. */
export type Tables = {
  [Name in keyof typeof tables]: Row<(typeof tables)[Name]['columns']>
}

export type AccountsTable = Tables['accounts']
export type ApiKeysTable = Tables['api_keys']
export type UsageTable = Tables['usage']
export type BudgetWindowsTable = Tables['budget_windows']
export type IdempotentAnswersTable = Tables['idempotent_answers']
export type InvitationsTable = Tables['invitations']
export type OauthArtifactsTable = Tables['oauth_artifacts']
export type KeyClientsTable = Tables['key_clients']
export type RefusedAttemptsTable = Tables['refused_attempts']
export type StoredResponsesTable = Tables['stored_responses']
export type PictureContentsTable = Tables['picture_contents']
export type PictureFilesTable = Tables['picture_files']
export type ImageJobsTable = Tables['image_jobs']
export type WebhooksTable = Tables['webhooks']
export type WebhookDeliveriesTable = Tables['webhook_deliveries']
export type CassettesTable = Tables['cassettes']
/** Limits and budget of an account, a key or a member. */
export type AllowanceColumns = Row<typeof allowanceColumns>
/** The limits of a member or of an invited person. */
export type MemberLimits = Row<typeof memberLimits>

function columnsOf(type: Column['type']): ReadonlySet<string> {
  const columns = Object.values<Table>(tables).flatMap((table) => Object.entries(table.columns))
  return new Set(columns.flatMap(([name, column]) => (column.type === type ? [name] : [])))
}

/** The names of columns that hold integers or bytes in each table that has them. */
export const integerColumns = columnsOf('bigint')
export const bytesColumns = columnsOf('bytes')
