import type { ImageJob, JobContent } from '../core/image/jobs.ts'
import type { VendorTask } from '../core/turn.ts'
import type { Encryption } from '../storage/encryption.ts'
import { processName } from '../storage/process-name.ts'
import type { ImageJobsTable as Row } from '../storage/tables.ts'

/** The columns of a job without its content. */
export const listedColumns = [
  'id',
  'account_id',
  'key_id',
  'mode',
  'operation',
  'model',
  'status',
  'created_at',
  'completed_at',
  'expires_at',
] as const

type Listed = Pick<Row, (typeof listedColumns)[number]> & { key_name?: string | null }

/** A job without its content. */
export function listedJob(row: Listed): ImageJob {
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    ...(row.key_name === undefined ? {} : { keyName: row.key_name }),
    mode: row.mode,
    operation: row.operation,
    model: row.model,
    status: row.status,
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
    expiresAtMs: row.expires_at,
    tasks: [],
    content: {},
  }
}

/** A job; without content if its encryption key no longer exists. */
export function jobOf(row: Row & Listed, encryption: Encryption): ImageJob {
  const job = listedJob(row)
  const text = encryption.decrypt(row, contextOf(job))
  return {
    ...job,
    // `setTasks` and `sealed` wrote the texts.
    tasks: JSON.parse(row.tasks) as VendorTask[],
    content: text === undefined ? {} : (JSON.parse(text) as JobContent),
  }
}

/** The row of a new job, which this process executes. */
export function rowOf(job: ImageJob, encryption: Encryption): Row {
  return {
    id: job.id,
    account_id: job.accountId,
    key_id: job.keyId,
    mode: job.mode,
    operation: job.operation,
    model: job.model,
    status: job.status,
    created_at: job.createdAtMs,
    completed_at: null,
    expires_at: job.expiresAtMs,
    owner: processName,
    takeovers: 0,
    tasks: '[]',
    ...sealed(job, job.content, encryption),
  }
}

/** The encrypted content of a job, which keeps its prompt and settings. */
export function sealed(job: ImageJob, content: JobContent, encryption: Encryption) {
  const { prompt, settings } = job.content
  return encryption.encrypt(JSON.stringify({ prompt, settings, ...content }), contextOf(job))
}

/** Binds a ciphertext to its row. */
function contextOf({ id, accountId, mode }: Pick<ImageJob, 'id' | 'accountId' | 'mode'>): string {
  return `${accountId} ${mode} ${id}`
}
