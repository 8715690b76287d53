import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { endedJob, startJob } from '../support/image-jobs.ts'
import { makeFolder } from '../support/folder.ts'
import { startImageVendors } from '../support/image-vendors.ts'
import { until } from '../support/until.ts'

const seedream = { model: 'bytedance/seedream-4-0', prompt: 'Three cranes', size: '1024x1024' }
const bounds = { storeBusyTimeoutMs: 20, storeCheckIntervalMs: 20, ledgerRetryMaxMs: 40 }

describe('an image job that ends while the store fails', () => {
  for (const [name, script, status] of [
    ['is completed', 'paint', 'completed'],
    ['is failed', { status: 503, body: {} }, 'failed'],
  ] as const)
    it(`${name} when the store works again`, async () => {
      const folder = makeFolder()
      const variables = { DATA_DIR: folder.path }
      const vendors = await startImageVendors({ vendors: ['bytedance'], bounds, variables })
      // Locks the store as another process would.
      const other = new DatabaseSync(join(folder.path, 'gateway.db'), { timeout: 5000 })
      try {
        const { gateway, doubles } = vendors
        const double = doubles.bytedance
        const answer = Promise.withResolvers<void>()
        double.play(script === 'paint' ? script : { ...script, after: answer.promise })
        double.delayBy(() => 300)
        const { id } = await startJob(gateway, seedream)
        await until('the vendor is asked', () => double.calls.length === 1)
        other.exec('BEGIN IMMEDIATE')
        answer.resolve()
        await until('the store fails', () => gateway.logText().includes('StoreError'))
        other.exec('ROLLBACK')
        const ready = () => gateway.fetch('/ready', { key: null })
        await until('the store works', async () => (await ready()).status === 200)
        const job = await endedJob(gateway, id)
        expect(job.status).to.equal(status)
        expect(job.result?.data.length).to.equal(status === 'completed' ? 1 : undefined)
        expect(double.calls).to.have.length(1)
      } finally {
        other.close()
        await vendors.stop()
        folder.remove()
      }
    })
})
