import { expect } from 'chai'
import { createImageJobs } from '../../src/accounts/image-jobs.ts'
import { createEncryption } from '../../src/storage/encryption.ts'
import type { ImageJob } from '../../src/core/image/jobs.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

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

  it('are adopted with their content', async () => {
    const jobs = createImageJobs({
      store: { ...store, decide: (run: () => Promise<unknown>) => run() } as never,
      encryption: createEncryption({
        dataDir: folder.path,
        encryptionKey: undefined,
        databaseUrl: undefined,
      }),
      removal: () => [],
      limits: { imageJobsPerAccountMax: 10 },
      clock: () => 1000,
      onSwept: () => undefined,
    })
    const id = `imgjob_${'1'.repeat(32)}`
    const request = { body: { prompt: 'x' }, strict: false, fallback: true }
    const job: ImageJob = {
      id,
      accountId: 'acc',
      keyId: 'key',
      mode: 'live',
      operation: 'generation',
      model: 'm',
      status: 'queued',
      createdAtMs: 1,
      completedAtMs: null,
      expiresAtMs: 5000,
      tasks: [],
      content: { request },
    }
    await jobs.begin(job)
    await store.db.updateTable('image_jobs').set({ owner: 'gone' }).execute()
    const rows = await jobs.adopt('gone', 20)
    expect(rows[0]!.content).to.deep.equal({ request })
    jobs.close()
  })

  it('are bounded for each account, listed by page among 10,000, and removed when they expire', async () => {
    let now = 1000
    const jobs = createImageJobs({
      store: { ...store, decide: (run: () => Promise<unknown>) => run() } as never,
      encryption: createEncryption({
        dataDir: folder.path,
        encryptionKey: undefined,
        databaseUrl: undefined,
      }),
      removal: () => [],
      limits: { imageJobsPerAccountMax: 10_000 },
      clock: () => now,
      onSwept: () => undefined,
    })
    const model = await store.db.selectFrom('image_jobs').selectAll().executeTakeFirstOrThrow()
    const rowOf = (index: number) => ({
      ...model,
      id: `imgjob_f${index.toString(16).padStart(31, '0')}`,
      account_id: 'many',
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
    expect(durationMs).to.be.lessThan(1000)
    const job = { ...page[0]!, id: `imgjob_${'0'.repeat(32)}` }
    const refusal = await jobs.begin(job).catch((error: unknown) => error)
    expect(refusal).to.include({ code: 'rate_limit_exceeded', param: 'prefer' })
    await jobs.begin({ ...job, accountId: 'few' })
    now = 2000
    expect(await jobs.list(caller, { limit: 100 })).to.deep.equal([])
    await jobs.sweep()
    const left = store.db.selectFrom('image_jobs').select('id').where('account_id', '=', 'many')
    expect(await left.execute()).to.deep.equal([])
    jobs.close()
  }).timeout(30_000)
})
