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
})
