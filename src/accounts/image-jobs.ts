import { CompiledQuery, sql } from 'kysely'
import type { ImageJob, ImageJobs, JobEnd, JobOwner } from '../core/image/jobs.ts'
import { GatewayError } from '../core/error.ts'
import { callerCancelled } from '../core/resilience/deadline.ts'
import type { Encryption } from '../storage/encryption.ts'
import { processName } from '../storage/process-name.ts'
import { listed } from '../storage/sql-dialect.ts'
import type { StoreStatement } from '../storage/store.ts'
import type { GuardedStore } from '../storage/store-guard.ts'
import { findRow, jobOf, listJobs, rowOf, sealed } from './image-job-rows.ts'
import { sweepAgain, takeTurn } from './sweep.ts'
import { publishing } from './webhooks/publishing.ts'

type Options = {
  store: GuardedStore
  encryption: Encryption
  /** The statements that delete the pictures of a job. */
  removal: (jobId: string) => readonly StoreStatement[]
  limits: { imageJobsPerAccountMax: number }
  clock: () => number
  onSwept: (error?: unknown) => void
}

export type JobStore = ImageJobs & {
  /** Those of these jobs that have not ended. Rejects if the store fails. */
  unended(ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Takes jobs from a process that has ended, each by one process; another call returns the next ones. */
  adopt(owner: string, limit: number): Promise<ImageJob[]>
  /** Removes expired jobs now. Never rejects. */
  sweep(): Promise<void>
  close(): void
}

/** The owner of a job that its process has left. */
export const releasedOwner = ''
const sweepMs = 60_000
const removedRowsMax = 500
/** A job whose processes have ended so often may be the reason for it. */
const takeoversMax = 20
/** The jobs of an account are counted again after so many new ones. */
const countedJobs = 500

/** Image jobs in the store, their content encrypted (docs/storage.md#image-jobs). */
export function createImageJobs(options: Options): JobStore {
  const { store, removal, onSwept } = options
  const { db } = store
  const unended = () => db.updateTable('image_jobs').where('status', 'in', unendedStatuses)
  const own = (id: string) => unended().where('id', '=', id).where('owner', '=', processName)
  const room = createRoom(options)
  const sweep = () => {
    room.clear()
    return removeExpired(options)
  }
  const again = sweepAgain(sweep, { intervalMs: sweepMs, onSwept })
  return {
    assertOn: () => {
      if (!options.encryption.canEncrypt()) throw notStored()
    },
    begin: async (job) => {
      await room.take(job.accountId)
      // `insertions` cannot insert bytes in PostgreSQL.
      const inserting = db.insertInto('image_jobs').values(rowOf(job, options)).compile()
      await store.decide(() => store.commit([inserting]))
    },
    asked: async (id) => {
      const asking = own(id).set({ status: 'in_progress' })
      const { numUpdatedRows } = await store.decide(() => asking.executeTakeFirstOrThrow())
      if (numUpdatedRows === 0n) throw callerCancelled()
    },
    setTasks: async (id, tasks) => {
      const setting = own(id).set({ tasks: JSON.stringify(tasks) })
      await store.decide(() => setting.execute())
    },
    end: (job, end) => endJob(options, job, end),
    release: async (id) => {
      await store.decide(() => own(id).set({ owner: releasedOwner }).execute())
    },
    find: async (caller, id) => {
      const row = await findRow(options, caller, id)
      return row && jobOf(row, options)
    },
    list: (caller, page) => listJobs(options, caller, page),
    cancel: (caller, id) => cancelJob(options, caller, id),
    remove: async (caller, id) => {
      if ((await findRow(options, caller, id)) === undefined) return false
      const removing = db.deleteFrom('image_jobs').where('id', '=', id).compile()
      const changes = await store.decide(() => store.commit([removing, ...removal(id)]))
      return changes[0]! > 0
    },
    unended: async (ids) => {
      const rows = db.selectFrom('image_jobs').select('id').where('id', 'in', listed(db, ids))
      const left = await rows.where('status', 'in', unendedStatuses).execute()
      return new Set(left.map(({ id }) => id))
    },
    adopt: (owner, limit) => adoptJobs(options, owner, limit),
    sweep: again.look,
    close: again.close,
  }
}

/** Bounds the jobs of each account, without counting them for each new one. */
function createRoom({ store, limits: { imageJobsPerAccountMax: most } }: Options) {
  const left = new Map<string, number>()
  const count = async (accountId: string): Promise<number> => {
    const rows = store.db.selectFrom('image_jobs').where('account_id', '=', accountId)
    const counting = rows.select((row) => row.fn.countAll<number | bigint | string>().as('jobs'))
    const { jobs } = await store.decide(() => counting.executeTakeFirstOrThrow())
    if (Number(jobs) >= most) throw tooMany(most)
    return Math.min(most - Number(jobs), countedJobs)
  }
  return {
    /** Throws `rate_limit_exceeded`. */
    take: async (accountId: string): Promise<void> => {
      const known = left.get(accountId) ?? 0
      left.set(accountId, (known > 0 ? known : await count(accountId)) - 1)
    },
    clear: () => left.clear(),
  }
}

const dayMs = 86_400_000
const unendedStatuses = ['queued', 'in_progress'] as const

async function removeExpired({ store: { db }, clock }: Options): Promise<boolean> {
  const now = clock()
  if (!(await takeTurn(db, 'image_jobs', now, sweepMs))) return false
  // Running jobs expire after their end, so that a clock that jumps ahead ends none.
  const ended = db.selectFrom('image_jobs').select('id').where('owner', 'is', null)
  const expired = ended.where('expires_at', '<=', now)
  for (let rows = removedRowsMax; rows === removedRowsMax;) {
    const batch = db.deleteFrom('image_jobs').where('id', 'in', expired.limit(removedRowsMax))
    rows = Number((await batch.executeTakeFirst()).numDeletedRows)
  }
  // The lease of a process that lives is renewed every few seconds.
  await db
    .deleteFrom('process_leases')
    .where('renewed_at', '<', now - dayMs)
    .execute()
  return true
}

async function cancelJob(options: Options, caller: JobOwner, id: string): Promise<void> {
  const { store, clock } = options
  const row = await findRow(options, caller, id)
  if (row === undefined) return
  const job = jobOf(row, options)
  const content = sealed(job, {}, options)
  const cancelling = store.db
    .updateTable('image_jobs')
    .where('status', 'in', unendedStatuses)
    .where('id', '=', id)
    .set({ status: 'cancelled', ...endColumns(job, clock()), ...content })
  await store.decide(() => cancelling.execute())
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

/** Ends a job in one transaction with what follows from its end. */
function endJob(options: Options, job: ImageJob, end: JobEnd): Promise<boolean> {
  const { store, removal, clock } = options
  const { status, content, expiresAtMs } = end
  const columns = endColumns(job, clock())
  const ended = { ...columns, status, expires_at: expiresAtMs ?? columns.expires_at }
  return store.decide(() =>
    store.db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('image_jobs')
        .set({ ...ended, ...sealed(job, content, options) })
        .where('id', '=', job.id)
        .where('owner', '=', processName)
        .where('status', 'in', unendedStatuses)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows > 0n) {
        const event = { ...job, objectId: job.id }
        if (status !== 'cancelled')
          await publishing({ ...event, type: `image.job.${status}` }, clock()).execute(transaction)
        return true
      }
      // Its pictures would stay without a job.
      for (const { sql: text, parameters } of removal(job.id))
        await transaction.executeQuery(CompiledQuery.raw(text, [...parameters]))
      return false
    }),
  )
}

async function adoptJobs(options: Options, owner: string, limit: number): Promise<ImageJob[]> {
  const { db } = options.store
  const its = db.selectFrom('image_jobs').select('id').where('owner', '=', owner)
  const rows = await db
    .updateTable('image_jobs')
    .where('id', 'in', its.limit(limit))
    // Another process may have taken them since.
    .where('owner', '=', owner)
    .where('status', 'in', unendedStatuses)
    .set({ owner: processName, takeovers: sql<number>`takeovers + 1` })
    .returningAll()
    .execute()
  return rows.map((row) => {
    const job = jobOf(row, options)
    return row.takeovers > takeoversMax ? { ...job, tasks: [] } : job
  })
}

function tooMany(most: number): GatewayError {
  const text = `This account has ${most} image jobs. Delete some, or wait until they expire.`
  return new GatewayError('rate_limit_exceeded', text, { param: 'prefer', retryAfterSeconds: 60 })
}

function notStored(): GatewayError {
  const text =
    'This gateway cannot encrypt jobs, so it makes none. Send the request without `Prefer: respond-async`; operators set ENCRYPTION_KEY.'
  return new GatewayError('unsupported_parameter', text, { param: 'prefer' })
}
