import { expect } from 'chai'
import { processName } from '../../src/storage/process-name.ts'
import { nanoPerUsd, setBudgetOfKey } from '../support/budgets.ts'
import { startGateway } from '../support/gateway.ts'
import { endedJob, getJob, rowOf, startJob, type Job } from '../support/image-jobs.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { until } from '../support/until.ts'

const qwen = { model: 'alibaba/qwen-image-plus', prompt: 'A red kite', size: '1328x1328' }
const glm = { model: 'zai/glm-image', prompt: 'A red kite', size: '1280x1280' }
/** Made by a synchronous call. */
const seedream = { model: 'bytedance/seedream-4-0', prompt: 'Three cranes', size: '1024x1024' }
const bounds = { taskPollMs: 5, backgroundRecheckMs: 20, processLeaseMs: 10 }
const taskPath = '/api/v1/services/aigc/text2image/image-synthesis'
/** The name of a process on another machine. */
const other = 'elsewhere 1 x'

describe('jobs that a vendor makes as tasks', () => {
  let vendors: ImageVendors
  let gateway: ImageVendors['gateway']
  let alibaba: ImageDouble
  let zai: ImageDouble
  before(async () => {
    vendors = await startImageVendors({ vendors: ['bytedance', 'alibaba', 'zai'], bounds })
    ;({ gateway } = vendors)
    ;({ alibaba, zai } = vendors.doubles)
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const change = (id: string, columns: object) =>
    gateway.db.updateTable('image_jobs').set(columns).where('id', '=', id).execute()
  const tasksOf = async (id: string) => {
    const row = gateway.db.selectFrom('image_jobs').select('tasks').where('id', '=', id)
    return JSON.parse((await row.executeTakeFirstOrThrow()).tasks) as {
      id: string
      index: number
    }[]
  }
  /** As if the job belonged to a process of another machine, which has ended without a word. */
  const orphan = (id: string) => change(id, { owner: other })
  const afterEnd = async ({ id }: Job) => {
    const job = await endedJob(gateway, id)
    await until('the job has its row', async () => (await rowOf(gateway, job)) !== undefined)
    return { job, row: (await rowOf(gateway, job))! }
  }

  it('have the id of the task in the store before the picture exists', async () => {
    alibaba.workFor(1000)
    const { id } = await startJob(gateway, { ...qwen, n: 2 })
    await until('both tasks are stored', async () => (await tasksOf(id)).length === 2)
    const stored = await tasksOf(id)
    expect(stored.map((task) => task.id).sort()).to.deep.equal(
      [...alibaba.tasks.keys()].slice(-2).sort(),
    )
    expect(stored.map(({ index }) => index)).to.have.members([0, 1])
    for (const task of alibaba.tasks.values()) task.pollsLeft = 0
    const { row } = await afterEnd({ id } as Job)
    expect(row).to.include({ outcome: 'ok', images: 2, cost_nano_usd: 60_000_000 })
    expect(await tasksOf(id)).to.deep.equal([])
    expect(alibaba.calls.map(({ path }) => path)).to.deep.equal([taskPath, taskPath])
  })

  it('of Z.AI too, and requests that wait are made without tasks', async () => {
    zai.workFor(2)
    const { id } = await startJob(gateway, glm)
    expect((await endedJob(gateway, id)).status).to.equal('completed')
    expect(zai.polls).to.have.length(3)
    const polled = zai.polls.length
    await vendors.images(glm)
    await vendors.images(qwen)
    expect(zai.polls).to.have.length(polled)
    expect(alibaba.tasks.size === 0 || alibaba.calls.at(-1)!.path !== taskPath).to.equal(true)
  })

  it('go on though polls fail for a while', async () => {
    const page = { status: 502, body: '<html>Bad gateway</html>' }
    const unknown = { body: { output: { task_status: 'UNKNOWN' } } }
    alibaba.playPolls(page, { status: 429, body: {} }, { reset: 'before' }, unknown, {
      status: 404,
      body: {},
    })
    alibaba.playPolls({ body: '<html>' }, { status: 500, body: {} }, 'paint')
    const { job, row } = await afterEnd(await startJob(gateway, qwen))
    expect(job.status, JSON.stringify(job.error)).to.equal('completed')
    expect(alibaba.calls).to.have.length(1)
    expect(row.attempts).to.include('"outcome":"ok"')
  })

  it('fail when the task fails, and then cost nothing', async () => {
    alibaba.workFor(1000)
    const { id } = await startJob(gateway, qwen)
    await until('the task exists', () => alibaba.calls.length === 1)
    for (const task of alibaba.tasks.values()) task.state = 'failed'
    const { job, row } = await afterEnd({ id } as Job)
    expect(job.status).to.equal('failed')
    expect(job.error!.code).to.equal('provider_error')
    expect(row).to.include({ cost_nano_usd: 0, cost_status: 'exact' })
  })

  it('are not made again when a vendor forgets the task', async () => {
    alibaba.workFor(1000)
    const { id } = await startJob(gateway, qwen)
    await until('the task exists', async () => (await tasksOf(id)).length === 1)
    const gone = { status: 404, body: { code: 'NotFound', message: 'task not found' } }
    alibaba.playPolls(...Array.from({ length: 20 }, () => gone))
    const { job, row } = await afterEnd({ id } as Job)
    expect(job.status).to.equal('failed')
    expect(row).to.include({ outcome: 'unknown', cost_status: 'unknown' })
    expect(alibaba.calls).to.have.length(1)
  })

  it('are finished by another process when theirs has ended', async () => {
    const key = await gateway.createKey('live')
    await setBudgetOfKey(gateway, key, { nanoUsd: nanoPerUsd, period: 'day' })
    alibaba.workFor(1000)
    const job = await startJob(
      gateway,
      { ...qwen, n: 2, output_format: 'webp', size: '664x664' },
      { key },
    )
    await until('both tasks are stored', async () => (await tasksOf(job.id)).length === 2)
    await orphan(job.id)
    const polls = alibaba.polls.length
    await until('this process has taken it over', async () => {
      const row = gateway.db.selectFrom('image_jobs').select('takeovers').where('id', '=', job.id)
      return (await row.executeTakeFirstOrThrow()).takeovers === 1
    })
    for (const task of alibaba.tasks.values()) task.pollsLeft = 0
    const { job: ended, row } = await afterEnd(job)
    expect(ended.status, JSON.stringify(ended.error)).to.equal('completed')
    expect(ended.result).to.include({ output_format: 'webp', size: '664x664' })
    expect(ended.result!.data).to.have.length(2)
    expect(alibaba.calls, 'pictures are not bought again').to.have.length(2)
    expect(alibaba.polls.length).to.be.greaterThan(polls)
    expect(row).to.include({ outcome: 'ok', images: 2, cost_nano_usd: 60_000_000, at: row.at })
    const reservations = await gateway.db.selectFrom('reservations').selectAll().execute()
    expect(reservations.filter(({ request_id: of }) => of === row.id)).to.deep.equal([])
  })

  it('fail when their process ended without a task, and are never made again', async () => {
    vendors.doubles.bytedance.play({ hang: true })
    const job = await startJob(gateway, seedream)
    await until('the vendor is asked', () => vendors.doubles.bytedance.calls.length === 1)
    await orphan(job.id)
    const ended = await endedJob(gateway, job.id)
    expect(ended).to.include({ status: 'failed' })
    expect(ended.error!.code).to.equal('provider_error')
    await until('the call has its row', async () => (await rowOf(gateway, job)) !== undefined)
    // The process that lost the job still runs here, and may write its row first.
    expect(await rowOf(gateway, job))
      .to.include({ cost_status: 'unknown' })
      .and.to.have.property('outcome')
      .that.is.oneOf(['unknown', 'cancelled'])
    expect(vendors.doubles.bytedance.calls).to.have.length(1)
  })

  it('fail when the gateway stops before their end, with the reason', async () => {
    const limits = { drain_timeout_ms: 100 }
    const stopping = await startImageVendors({ vendors: ['bytedance'], limits, bounds })
    const beside = await startGateway({ beside: stopping.gateway })
    try {
      stopping.doubles.bytedance.play({ hang: true })
      const { id } = await startJob(stopping.gateway, seedream)
      await until('the vendor is asked', () => stopping.doubles.bytedance.calls.length === 1)
      await stopping.gateway.drain()
      const { status, error } = await endedJob(beside, id, stopping.gateway.liveKey)
      expect({ status, code: error!.code }).to.deep.equal({
        status: 'failed',
        code: 'provider_error',
      })
      expect(error!.message).to.include('The gateway was stopped')
    } finally {
      await beside.stop()
      await stopping.stop()
    }
  })

  it('are left alone while the lease of their process is renewed', async () => {
    alibaba.workFor(1000)
    const { id } = await startJob(gateway, qwen)
    await until('the task is stored', async () => (await tasksOf(id)).length === 1)
    const leases = gateway.db.insertInto('process_leases')
    await leases.values({ name: other, beats: 0, renewed_at: 0 }).execute()
    await orphan(id)
    for (let beats = 1; beats < 30; beats++) {
      await gateway.db
        .updateTable('process_leases')
        .set({ beats })
        .where('name', '=', other)
        .execute()
      await until('another look', () => true)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const owner = gateway.db.selectFrom('image_jobs').select('owner').where('id', '=', id)
    expect((await owner.executeTakeFirstOrThrow()).owner).to.equal(other)
    await until(
      'it is taken over',
      async () => (await owner.executeTakeFirstOrThrow()).owner === processName,
    )
    for (const task of alibaba.tasks.values()) task.pollsLeft = 0
    expect((await endedJob(gateway, id)).status).to.equal('completed')
  })

  it('are not given up by a key that was deleted, but fail', async () => {
    alibaba.workFor(1000)
    const key = await gateway.createKey('live')
    const { id, key_id: keyId } = await startJob(gateway, qwen, { key })
    await until('the task is stored', async () => (await tasksOf(id)).length === 1)
    const revoked = { revoked_at: Date.now() }
    await gateway.db.updateTable('api_keys').set(revoked).where('id', '=', keyId).execute()
    await orphan(id)
    await until('the job has ended', async () => (await getJob(gateway, id)).status === 'failed')
    expect((await getJob(gateway, id)).error!.code).to.equal('invalid_api_key')
  })
})
