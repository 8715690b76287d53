import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { endedJob, getJob, jobsPath, type Job } from '../support/image-jobs.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { until } from '../support/until.ts'

const path = '/v1/images/generations'
const seedream = { model: 'bytedance/seedream-4-0', prompt: 'Three cranes', size: '1024x1024' }
const bounds = { backgroundRecheckMs: 20, processLeaseMs: 20 }

describe('image jobs of requests with an idempotency key whose client left', () => {
  let vendors: ImageVendors
  let gateway: ImageVendors['gateway']
  let bytedance: ImageDouble
  before(async () => {
    vendors = await startImageVendors({ vendors: ['bytedance'], bounds })
    ;({ gateway } = vendors)
    ;({ bytedance } = vendors.doubles)
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  /** Asks for a picture, leaves, and finds the job with the same key. */
  const leftJob = async (headers: { 'idempotency-key': string }): Promise<Job> => {
    const leave = new AbortController()
    const asked = vendors.post(path, seedream, { headers, signal: leave.signal })
    await until('the vendor is asked', () => bytedance.calls.length === 1)
    leave.abort()
    await asked.catch(() => undefined)
    let found: Response | undefined
    await until('the job exists', async () => {
      found = await vendors.post(path, seedream, {
        headers: { ...headers, prefer: 'respond-async' },
      })
      return found.status === 202
    })
    return (await found!.json()) as Job
  }

  it('are found with the same key, and completed', async () => {
    bytedance.delayBy(() => 300)
    const headers = { 'idempotency-key': 'left-1' }
    const { id } = await leftJob(headers)
    let found: Response | undefined
    const again = await vendors.post(path, seedream, { headers })
    const { message } = await expectError(again, { status: 409, code: 'idempotency_key_in_use' })
    expect(message).to.include(`${jobsPath}/${id}`)
    expect((await endedJob(gateway, id)).status).to.equal('completed')
    await until('the answer is stored', async () => {
      found = await vendors.post(path, seedream, { headers })
      return found.status === 200
    })
    expect(bytedance.calls).to.have.length(1)
  })

  it('end at the vendor when they are cancelled', async () => {
    bytedance.play({ hang: true })
    const { id } = await leftJob({ 'idempotency-key': 'left-2' })
    await gateway.fetch(`${jobsPath}/${id}/cancel`, { method: 'POST', key: gateway.liveKey })
    await until('the call is aborted', () => bytedance.calls[0]!.aborted)
    expect((await getJob(gateway, id)).status).to.equal('cancelled')
  })

  it('are not taken over by another process, since this one renews its lease', async () => {
    bytedance.delayBy(() => 400)
    const { id } = await leftJob({ 'idempotency-key': 'left-3' })
    await gateway.db.deleteFrom('process_leases').execute()
    const leases = gateway.db.selectFrom('process_leases').selectAll()
    await until('the lease is renewed', async () => (await leases.execute()).length === 1)
    expect((await endedJob(gateway, id)).status).to.equal('completed')
  })
})
