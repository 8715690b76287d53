import { expect } from 'chai'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { imageEventsIn, namesOf } from '../support/image-events.ts'
import { endedJob, getJob, jobsPath, startJob, type Job } from '../support/image-jobs.ts'

const size = '1536x1024'
const body = { model: 'gpt-image-1-mini', prompt: 'A whale and a ship', size }

describe('what an image job keeps of its request', () => {
  let gateway: TestGateway
  before(async () => void (gateway = await startGateway()))
  after(() => gateway.stop())

  const keepPrompts = (isKept: boolean) =>
    gateway.db
      .updateTable('accounts')
      .set({ keeps_prompts: Number(isKept) })
      .execute()
  const newJob = async (key: string) => {
    const { id } = await startJob(gateway, { ...body, n: 2, moderation: 'low' }, { key })
    return endedJob(gateway, id, key)
  }
  const list = async (key: string) => {
    const answer = await gateway.fetch(jobsPath, { key })
    return (await answer.json()) as { data: Job[]; unavailable: string | null }
  }

  it('is its options and the name of its key, and not the prompt', async () => {
    const job = await newJob(await gateway.createKey('test'))
    expect(job).to.deep.include({ status: 'completed', prompt: null, key_name: 'test key' })
    expect(job.settings).to.deep.include({ n: 2, size, moderation: 'low' })
    expect(job.settings).to.not.have.any.keys('prompt', 'model', 'images', 'user')
    const { data, unavailable } = await list(gateway.testKey)
    expect(data[0]).to.include({ id: job.id, key_name: 'test key', prompt: null })
    expect(unavailable).to.equal(null)
  })

  it('is the prompt too if the account keeps prompts, encrypted, for all keys of the account', async () => {
    await keepPrompts(true)
    const job = await newJob(await gateway.createKey('test'))
    expect(job).to.include({ status: 'completed', prompt: body.prompt })
    expect(await getJob(gateway, job.id, gateway.testKey)).to.include({ prompt: body.prompt })
    const row = await gateway.db
      .selectFrom('image_jobs')
      .selectAll()
      .where('id', '=', job.id)
      .executeTakeFirstOrThrow()
    const stored = Buffer.from(row.ciphertext).toString() + JSON.stringify(row)
    expect(stored).to.not.contain('whale')
    await keepPrompts(false)
    expect(await newJob(await gateway.createKey('test'))).to.include({ prompt: null })
  })

  it('is kept when the job is cancelled', async () => {
    await keepPrompts(true)
    const key = await gateway.createKey('test')
    const prompt = 'A crane sandbox:delay=60000'
    const { id } = await startJob(gateway, { ...body, prompt }, { key })
    await gateway.fetch(`${jobsPath}/${id}/cancel`, { method: 'POST', key })
    expect(await getJob(gateway, id, key)).to.include({ status: 'cancelled', prompt })
    await keepPrompts(false)
  })

  it('does not include partial images, which other processes do not have', async () => {
    const key = gateway.testKey
    const other = await startGateway({ beside: gateway, bounds: { backgroundRecheckMs: 20 } })
    try {
      const prompt = 'A tower sandbox:delay=500'
      const { id } = await startJob(gateway, { ...body, prompt, partial_images: 1 }, { key })
      const [own, others] = await Promise.all(
        [gateway, other].map(async (one) => {
          const response = await one.fetch(`${jobsPath}/${id}/events`, { key })
          return namesOf(imageEventsIn(await response.text()))
        }),
      )
      expect(own).to.deep.equal(['partial 0/0', 'completed 0'])
      expect(others).to.deep.equal(['completed 0'])
    } finally {
      await other.stop()
    }
  })
})

describe('the list of image jobs of a gateway that makes none', () => {
  it('has the sentence of the refusal', async () => {
    const gateway = await startGateway({ file: { limits: { picture_days: 0 } } })
    try {
      const answer = await gateway.fetch(jobsPath)
      const { unavailable } = (await answer.json()) as { unavailable: string }
      const headers = { prefer: 'respond-async' }
      const refused = await gateway.post('/v1/images/generations', body, { headers })
      expect(refused.status).to.equal(400)
      const { error } = (await refused.json()) as { error: { message: string; param: string } }
      expect(error).to.include({ param: 'prefer', message: unavailable })
    } finally {
      await gateway.stop()
    }
  })
})
