import type { ExpressionBuilder } from 'kysely'
import { GatewayError } from '../core/error.ts'
import type { ImageJob, ImageJobs, JobContent, JobOwner } from '../core/image/jobs.ts'
import type { VendorTask } from '../core/turn.ts'
import type { Encryption } from '../storage/encryption.ts'
import { processName } from '../storage/process-name.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { ImageJobsTable, Tables } from '../storage/tables.ts'

type Row = ImageJobsTable
type FoundRow = Row & { key_name: string | null }
type Options = { store: GuardedStore; encryption: Encryption; clock: () => number }

export const idForm = /^imgjob_[0-9a-f]{32}$/

/** The row of a job, for every access by a caller; undefined if no job has such an id. */
export async function findRow(
  { store, clock }: Pick<Options, 'store' | 'clock'>,
  { accountId, keyId, mode, models }: JobOwner,
  id: string,
): Promise<FoundRow | undefined> {
  if (!idForm.test(id)) return undefined
  const row = store.db
    .selectFrom('image_jobs')
    .selectAll()
    .select(keyName)
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('mode', '=', mode)
    .where(isStored(clock()))
  // An API key must not get answers of models that it may not call.
  const own = models === null ? row : row.where('key_id', '=', keyId)
  return store.decide(() => own.executeTakeFirst())
}

/** The jobs of a page, without their content. */
export async function listJobs(
  { store, clock }: Pick<Options, 'store' | 'clock'>,
  { accountId, keyId, mode, models }: JobOwner,
  { limit, after, status }: Parameters<ImageJobs['list']>[1],
): Promise<ImageJob[]> {
  // Ids sort by time.
  let rows = store.db
    .selectFrom('image_jobs')
    .select(listedColumns)
    .select(keyName)
    .where('account_id', '=', accountId)
    .where('mode', '=', mode)
    .where(isStored(clock()))
    .orderBy('id', 'desc')
    .limit(limit)
  if (after !== undefined) {
    if (!idForm.test(after)) {
      const text = "'after' is the id of a job: the `last_id` of the page before."
      throw new GatewayError('invalid_value', text, { param: 'after' })
    }
    rows = rows.where('id', '<', after)
  }
  if (status !== undefined) rows = rows.where('status', '=', status)
  if (models !== null) rows = rows.where('key_id', '=', keyId)
  const found = await store.decide(() => rows.execute())
  return found.map((row) => ({ ...plainJob(row), tasks: [], content: {} }))
}

/** Running jobs do not expire. */
const isStored = (now: number) => (row: ExpressionBuilder<Tables, 'image_jobs'>) =>
  row.or([row('expires_at', '>', now), row('owner', 'is not', null)])

const keyName = (row: ExpressionBuilder<Tables, 'image_jobs'>) =>
  row
    .selectFrom('api_keys')
    .select('name')
    .whereRef('api_keys.id', '=', 'image_jobs.key_id')
    .as('key_name')

const listedColumns = [
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

function plainJob(row: Pick<Row, (typeof listedColumns)[number]> & { key_name?: string | null }) {
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
  }
}

/** A job without content if its encryption key no longer exists. */
export function jobOf(row: Row | FoundRow, { encryption }: Pick<Options, 'encryption'>): ImageJob {
  const job = plainJob(row)
  const text = encryption.decrypt(row, contextOf(job))
  return {
    ...job,
    // `setTasks` and `sealed` wrote the texts.
    tasks: JSON.parse(row.tasks) as VendorTask[],
    content: text === undefined ? {} : (JSON.parse(text) as JobContent),
  }
}

/** The row of a new job, which this process executes. */
export function rowOf(job: ImageJob, options: Pick<Options, 'encryption'>): Row {
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
    tasks: JSON.stringify(job.tasks),
    ...sealed(job, job.content, options),
  }
}

/** The encrypted content of a job, which keeps its prompt and settings. */
export function sealed(
  job: ImageJob,
  content: JobContent,
  { encryption }: Pick<Options, 'encryption'>,
) {
  const { prompt, settings } = job.content
  return encryption.encrypt(JSON.stringify({ prompt, settings, ...content }), contextOf(job))
}

/** Binds a ciphertext to its row. */
function contextOf({ id, accountId, mode }: Pick<ImageJob, 'id' | 'accountId' | 'mode'>): string {
  return `${accountId} ${mode} ${id}`
}
