import { expect } from 'chai'
import { createImageJobs } from '../../src/accounts/image-jobs.ts'
import { sweepPictures } from '../../src/accounts/picture-sweep.ts'
import { createEncryption } from '../../src/storage/encryption.ts'
import type { ImageJob, JobEnd } from '../../src/core/image/jobs.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

const dayMs = 86_400_000
const aJob: ImageJob = {
  id: `imgjob_${'1'.repeat(32)}`,
  accountId: 'acc',
  keyId: 'key',
  mode: 'live',
  operation: 'generation',
  model: 'm',
  status: 'in_progress',
  createdAtMs: 1,
  completedAtMs: null,
  expiresAtMs: 5000,
  tasks: [],
  content: { request: { body: { prompt: 'x' }, strict: false, fallback: true } },
}
type Opening = { clock: () => number; imageJobsPerAccountMax?: number }

forEachStore('the stored image jobs', () => {
  let folder: TemporaryFolder
  let store: Awaited<ReturnType<typeof openTestStore>>
  before(async () => {
    folder = makeFolder()
    store = await openTestStore(folder.path)
  })
  after(async () => {
    await store.close()
    folder.remove()
  })

  const open = ({ clock, imageJobsPerAccountMax = 10 }: Opening) =>
    createImageJobs({
      onEvent: () => undefined,
      store: { ...store, decide: (run: () => Promise<unknown>) => run() } as never,
      encryption: createEncryption({
        dataDir: folder.path,
        encryptionKey: undefined,
        databaseUrl: undefined,
      }),
      limits: { imageJobsPerAccountMax },
      clock,
      monotonic: () => 0,
    })

  const sweep = (now: number) =>
    sweepPictures({ store, place: undefined, clock: () => now, monotonic: () => 0 })

  it('are adopted with their content', async () => {
    const jobs = open({ clock: () => 1000 })
    await jobs.begin(aJob)
    await store.db.updateTable('image_jobs').set({ owner: 'gone' }).execute()
    const rows = await jobs.adopt('gone', 20)
    expect(rows[0]!.content).to.deep.equal(aJob.content)
  })

  it('are not lost while they run, though a clock jumps ahead by 40 days', async () => {
    let now = 1000
    const jobs = open({ clock: () => now })
    for (const status of ['completed', 'failed', 'cancelled'] as const) {
      const job = { ...aJob, id: `imgjob_${status.length.toString().repeat(32)}`, createdAtMs: now }
      job.expiresAtMs = now + 7 * dayMs
      const caller = { ...job, models: null }
      const statusNow = async () => (await jobs.find(caller, job.id))?.status
      await jobs.begin(job)
      now += 40 * dayMs
      await sweep(now)
      expect(await statusNow()).to.equal('in_progress')
      expect((await jobs.list(caller, { limit: 1 }))[0]).to.include({ id: job.id })
      const result = { created: 0, data: [] } as unknown as JobEnd['result']
      if (status === 'cancelled') await jobs.cancel(job)
      else await jobs.end(job, status === 'completed' ? { result } : {})
      now += 7 * dayMs - 1
      await sweep(now)
      expect(await statusNow()).to.equal(status)
      now += 60_000
      await sweep(now)
      expect(await statusNow()).to.equal(undefined)
    }
  })

  it('are bounded for each account, listed by page among 10,000, and removed when they expire', async () => {
    let now = 1000
    const jobs = open({ imageJobsPerAccountMax: 10_000, clock: () => now })
    const model = await store.db.selectFrom('image_jobs').selectAll().executeTakeFirstOrThrow()
    const rowOf = (index: number) => ({
      ...model,
      id: `imgjob_f${index.toString(16).padStart(31, '0')}`,
      account_id: 'many',
      status: 'completed' as const,
      owner: null,
      expires_at: 2000,
    })
    for (let from = 0; from < 10_000; from += 500) {
      const rows = Array.from({ length: 500 }, (_, index) => rowOf(from + index))
      await store.db.insertInto('image_jobs').values(rows).execute()
    }
    const caller = { accountId: 'many', keyId: 'key', mode: 'live', models: null } as const
    const startedAt = performance.now()
    const page = await jobs.list(caller, { limit: 100, after: rowOf(5000).id })
    const durationMs = performance.now() - startedAt
    expect(page.map(({ id }) => id)).to.deep.equal(
      Array.from({ length: 100 }, (_, index) => rowOf(4999 - index).id),
    )
    expect(durationMs).to.be.lessThan(5000)
    const job = { ...page[0]!, id: `imgjob_${'0'.repeat(32)}` }
    const refusal = await jobs.begin(job).catch((error: unknown) => error)
    expect(refusal).to.include({ code: 'rate_limit_exceeded', param: 'prefer' })
    await jobs.begin({ ...job, accountId: 'few' })
    now = 2000
    expect(await jobs.list(caller, { limit: 100 })).to.deep.equal([])
    await sweep(now)
    const left = store.db.selectFrom('image_jobs').select('id').where('account_id', '=', 'many')
    expect(await left.execute()).to.deep.equal([])
  }).timeout(30_000)
})
