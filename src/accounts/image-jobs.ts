import { sql, type ExpressionBuilder } from 'kysely'
import { schemaChecks } from '../../generated/checks.js'
import { GatewayError } from '../core/error.ts'
import type { ImageJob, ImageJobs, JobContent, JobEnd, JobOwner } from '../core/image/jobs.ts'
import type { VendorTask } from '../core/turn.ts'
import type { Encryption } from '../storage/encryption.ts'
import { processName } from '../storage/process-name.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import type { ImageJobsTable, Tables } from '../storage/tables.ts'
import { ending, ofCaller } from './background-rows.ts'
import { countOf } from './list-page.ts'
import { addingFiles, pictureRemoval } from './picture-rows.ts'
import { createRoom } from './room.ts'
import { publishing } from './webhooks/publishing.ts'

type Options = {
  store: GuardedStore
  encryption: Encryption
  limits: { imageJobsPerAccountMax: number }
  clock: () => number
  /** Called when the end of a job has queued an event. */
  onEvent: () => void
  monotonic: () => number
}

export type JobStore = ImageJobs & {
  /** Takes jobs from a process that has ended, each by one process; another call returns the next ones. */
  adopt(owner: string, limit: number): Promise<ImageJob[]>
}

/** The owner of a job that its process has left. */
export const releasedOwner = ''
/** A job whose processes have ended so often may be the reason for it. */
const takeoversMax = 20
/** The jobs of an account are counted again after so many new ones. */
const countedJobs = 500

/** Image jobs in the store, their content encrypted (docs/storage.md#image-jobs). */
export function createImageJobs(options: Options): JobStore {
  const { store, encryption, limits, clock, monotonic } = options
  const { db, decide } = store
  const own = (id: string) =>
    db.updateTable('image_jobs').where('id', '=', id).where('owner', '=', processName)
  const room = createRoom({
    count: (accountId) =>
      decide(() => countOf(db.selectFrom('image_jobs').where('account_id', '=', accountId))),
    limits: () => ({ most: limits.imageJobsPerAccountMax, step: countedJobs }),
    monotonic,
    refusal: tooMany,
  })
  return {
    assertOn: () => {
      if (!encryption.canEncrypt()) throw notStored()
    },
    begin: async (job) => {
      await room.check(job.accountId)
      room.use(job.accountId, 1)
      // `insertions` cannot insert bytes in PostgreSQL.
      const inserting = db.insertInto('image_jobs').values(rowOf(job, encryption)).compile()
      await decide(() => store.commit([inserting]))
    },
    setTasks: async (id, tasks) => {
      const setting = own(id).set({ tasks: JSON.stringify(tasks) })
      await decide(() => setting.execute())
    },
    end: async (job, end) => {
      const changes = await decide(() => store.commit(endingJob(options, job, end)))
      if (changes.at(-2)! > 0) options.onEvent()
    },
    release: async (id) => {
      await decide(() => own(id).set({ owner: releasedOwner }).execute())
    },
    find: async (caller, id) => {
      if (!schemaChecks.ImageJobId(id)) return undefined
      const found = jobsOf(options, caller).selectAll().where('id', '=', id)
      const row = await decide(() => found.executeTakeFirst())
      return row && jobOf(row, encryption)
    },
    list: (caller, page) => listJobs(options, caller, page),
    cancel: async (job) => {
      const cancelling = db
        .updateTable('image_jobs')
        .where('owner', 'is not', null)
        .where('id', '=', job.id)
        .set({ status: 'cancelled', ...endColumns(job, clock()), ...sealed(job, {}, encryption) })
      await decide(() => cancelling.execute())
    },
    remove: async ({ id }) => {
      const removing = db.deleteFrom('image_jobs').where('id', '=', id).compile()
      const changes = await decide(() => store.commit([removing, ...pictureRemoval(db, id)]))
      return changes[0]! > 0
    },
    adopt: (owner, limit) => adoptJobs(options, owner, limit),
  }
}

/** The jobs that a caller may access, with the names of their keys. */
function jobsOf({ store: { db }, clock }: Options, caller: JobOwner) {
  const keyName = (row: ExpressionBuilder<Tables, 'image_jobs'>) =>
    row
      .selectFrom('api_keys')
      .select('name')
      .whereRef('api_keys.id', '=', 'image_jobs.key_id')
      .as('key_name')
  return db.selectFrom('image_jobs').select(keyName).where(ofCaller(caller, clock()))
}

async function listJobs(
  options: Options,
  caller: JobOwner,
  { limit, after, status }: Parameters<ImageJobs['list']>[1],
): Promise<ImageJob[]> {
  // Ids sort by time.
  let rows = jobsOf(options, caller).select(listedColumns).orderBy('id', 'desc').limit(limit)
  if (after !== undefined) rows = rows.where('id', '<', after)
  if (status !== undefined) rows = rows.where('status', '=', status)
  return (await options.store.decide(() => rows.execute())).map(listedJob)
}

/** The columns of a job that ends now; it exists as many days from now as it would have since its creation. */
function endColumns({ createdAtMs, expiresAtMs }: ImageJob, now: number) {
  return {
    owner: null,
    completed_at: now,
    expires_at: now + expiresAtMs - createdAtMs,
    tasks: '[]',
  }
}

/** The statements that end a job, add its files and publish its event. */
function endingJob({ store: { db }, encryption, clock }: Options, job: ImageJob, end: JobEnd) {
  const now = clock()
  const files = end.result?.data.map(({ file }) => file) ?? []
  const status = end.result === undefined ? 'failed' : 'completed'
  const columns = { status, ...endColumns(job, now), ...sealed(job, end, encryption) }
  const event = { ...job, objectId: job.id, type: `image.job.${status}` } as const
  return ending(db, 'image_jobs', {
    condition: sql`id = ${job.id} and owner = ${processName}`,
    columns,
    follow: (isRunning) => [
      ...(files.length === 0 ? [] : addingFiles(job, files, now, isRunning)),
      publishing(event, now, isRunning),
    ],
  })
}

async function adoptJobs(
  { store: { db }, encryption }: Options,
  owner: string,
  limit: number,
): Promise<ImageJob[]> {
  const its = db.selectFrom('image_jobs').select('id').where('owner', '=', owner)
  const rows = await db
    .updateTable('image_jobs')
    .where('id', 'in', its.limit(limit))
    // Another process may have taken them since.
    .where('owner', '=', owner)
    .set({ owner: processName, takeovers: sql<number>`takeovers + 1` })
    .returningAll()
    .execute()
  return rows.map((row) => {
    const job = jobOf(row, encryption)
    return row.takeovers > takeoversMax ? { ...job, tasks: [] } : job
  })
}

/** The columns of a job without its content. */
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

type Listed = Pick<ImageJobsTable, (typeof listedColumns)[number]> & { key_name?: string | null }

/** A job without its content. */
function listedJob(row: Listed): ImageJob {
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
function jobOf(row: ImageJobsTable & Listed, encryption: Encryption): ImageJob {
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
function rowOf(job: ImageJob, encryption: Encryption): ImageJobsTable {
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
function sealed(job: ImageJob, content: JobContent, encryption: Encryption) {
  const { prompt, settings } = job.content
  return encryption.encrypt(JSON.stringify({ prompt, settings, ...content }), contextOf(job))
}

/** Binds a ciphertext to its row. */
function contextOf({ id, accountId, mode }: Pick<ImageJob, 'id' | 'accountId' | 'mode'>): string {
  return `${accountId} ${mode} ${id}`
}

function tooMany(_count: number, most: number): GatewayError {
  const text = `This account has ${most} image jobs. Delete some, or wait until they expire.`
  return new GatewayError('rate_limit_exceeded', text, { param: 'prefer', retryAfterSeconds: 60 })
}

function notStored(): GatewayError {
  const text =
    'This gateway cannot encrypt jobs, so it makes none. Send the request without `Prefer: respond-async`; operators set ENCRYPTION_KEY.'
  return new GatewayError('unsupported_parameter', text, { param: 'prefer' })
}
