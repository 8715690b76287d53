import type { SqlDialect } from '../sql-dialect.ts'
import {
  bytes,
  columnSql,
  id,
  integer,
  oneOf,
  optionalInteger,
  optionalText,
  text,
  type Table,
} from './columns.ts'

/** Tables of calls that go on without a connection. */
export const jobTables = {
  image_jobs: {
    columns: {
      id,
      account_id: text,
      key_id: text,
      mode: oneOf<'live' | 'test'>(),
      operation: oneOf<'generation' | 'edit'>(),
      model: text,
      status: oneOf<'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled'>(),
      created_at: integer,
      completed_at: optionalInteger,
      expires_at: integer,
      /** The process that executes it; null for a job that has ended. */
      owner: optionalText,
      /** How many processes have taken it from one that had ended. */
      takeovers: integer,
      tasks: text,
      encryption_key_id: text,
      ciphertext: bytes,
    },
    indexes: {
      image_jobs_account: ['account_id', 'mode', 'id'],
      image_jobs_owner: ['owner'],
      image_jobs_expires_at: ['expires_at'],
    },
  },
  process_leases: {
    columns: { name: id, beats: integer, renewed_at: integer },
  },
} satisfies Record<string, Table>

/** The process that makes a response in the background; null for a response that has ended. */
export const responseOwner = { owner: optionalText }

/** The statements that add `responseOwner`. */
export function ownersOfResponses(dialect: SqlDialect): string[] {
  return [
    `alter table stored_responses add column ${columnSql(dialect, 'owner', responseOwner.owner)}`,
    'create index stored_responses_owner on stored_responses (owner) where owner is not null',
  ]
}
