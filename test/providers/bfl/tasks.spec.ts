import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import sharp from 'sharp'
import { nanoPerUsd, setBudgetOfKey } from '../../support/budgets.ts'
import { expectError } from '../../support/expect-error.ts'
import type { ImageDouble } from '../../support/image-doubles/double.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { endedJob, rowOf, startJob } from '../../support/image-jobs.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { pixel } from '../../support/pixel.ts'
import { startUpstream, type ScriptedAnswer, type Upstream } from '../../support/upstream.ts'
import { until } from '../../support/until.ts'

const model = 'bfl/flux-2-pro'
const prompt = 'A red kite over dunes'
const asked = { model, prompt }
const generations = '/v1/images/generations'
const content = { status: 400, code: 'content_policy_violation' }
const tooMany = {
  status: 429,
  body: { error: 'rate_limit_exceeded', message: 'Too many concurrent requests', retry_after: 5 },
}
const state = (status: string, more: object = {}): ScriptedAnswer => ({
  body: { id: 'task', status, result: null, progress: null, details: null, ...more },
})
const bounds = { backgroundRecheckMs: 20, processLeaseMs: 10 }
const limits = { image_timeout_ms: 2000 }

describe('a picture of Black Forest Labs', () => {
  let vendors: ImageVendors
  let double: ImageDouble
  let stranger: Upstream
  before(async () => {
    stranger = await startUpstream()
    vendors = await startImageVendors({ vendors: ['bfl', 'xai'], bounds, limits })
    double = vendors.doubles.bfl
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await vendors.stop()
    await stranger.stop()
  })

  const ask = (body: object = {}) => vendors.post(generations, { ...asked, ...body })
  const lastRow = async () => (await vendors.gateway.usage()).at(-1)!
  /** An answer to the request that begins a task. */
  const begun = (more: object) => ({
    body: {
      id: 'task-0-elsewhere',
      polling_url: `${double.url}/get_result?id=task-0-elsewhere`,
      cost: 3,
      input_mp: 0,
      output_mp: 1,
      ...more,
    },
  })

  describe('costs what the vendor reports', () => {
    const reference = { image_url: pixel }
    const rows = [
      ['a picture', {}, 30_000_000],
      ['three pictures', { n: 3 }, 90_000_000],
      ['a picture of two megapixels', { size: '1536x1024' }, 45_000_000],
      ['an edit with two references', { images: [reference, reference] }, 60_000_000],
      ['of klein', { model: 'bfl/flux-2-klein-4b' }, 14_000_000],
      ['of a model without a row', { model: 'bfl/flux-2-pro-preview' }, 30_000_000],
    ] as const
    for (const [name, body, nanoUsd] of rows) {
      it(name, async () => {
        const { usage } = await vendors.images({ ...asked, ...body })
        expect(usage).to.include({ cost: nanoUsd / 1e9, cost_status: 'reported' })
        expect(await lastRow()).to.include({ outcome: 'ok', cost_nano_usd: nanoUsd })
      })
    }

    it('to the nano-dollar', async () => {
      const result = { sample: await sample() }
      double.play(begun({ cost: 1.23456789 }))
      double.playPolls(state('Ready', { result }))
      const { usage } = await vendors.images(asked)
      expect(usage.cost).to.equal(0.012345679)
      expect(await lastRow()).to.include({ cost_nano_usd: 12_345_679 })
    })

    it('and is an estimate if it reports nothing', async () => {
      const result = { sample: await sample() }
      double.play(begun({ cost: null }))
      double.playPolls(state('Ready', { result }))
      const { usage } = await vendors.images({ ...asked, size: '1024x1024' })
      expect(usage).to.include({ cost: 0.03, cost_status: 'estimated' })
    })

    it('though a budget reserves more, and then has the rest', async () => {
      const key = await vendors.gateway.createKey('live')
      await setBudgetOfKey(vendors.gateway, key, { nanoUsd: nanoPerUsd / 10, period: 'day' })
      const body = { ...asked, size: '1024x1024' }
      expect((await vendors.post(generations, body, { key })).status).to.equal(200)
      expect((await vendors.post(generations, body, { key })).status).to.equal(200)
      expect((await vendors.post(generations, body, { key })).status).to.equal(200)
      expect((await vendors.post(generations, body, { key })).status).to.equal(402)
    })
  })

  /** The address of a picture that the double has. */
  async function sample(): Promise<string> {
    await vendors.images(asked)
    return double.url + double.fetches.at(-1)!.path
  }

  describe('is refused by the moderation of the vendor, free of charge,', () => {
    const reasons = { details: { 'Moderation Reasons': ['Derivative Works Filter'] } }
    const refusals = [
      ['Request Moderated', 'refused the request before it made a picture'],
      ['Content Moderated', 'refused the picture that it made'],
    ] as const
    for (const [status, words] of refusals) {
      it(`as ${status}`, async () => {
        double.playPolls(state('Pending'), state(status, reasons))
        const response = await ask({ models: ['xai/grok-imagine-image-2.0'] })
        const { message } = await expectError(response, content)
        expect(message).to.include(words).and.include('Derivative Works Filter')
        expect(await lastRow()).to.include({ cost_nano_usd: 0, cost_status: 'exact' })
        expect(vendors.doubles.xai.calls).to.deep.equal([])
      })
    }
  })

  it('goes on at another model when the vendor fails', async () => {
    double.playPolls(state('Error'))
    const { data } = await vendors.images({ ...asked, models: ['xai/grok-imagine-image-2.0'] })
    expect(data).to.have.length(1)
  })

  it('is not requested again when its task is unknown or in an unknown state', async () => {
    for (const [status, polls] of [
      ['Task not found', 8],
      ['Dreaming', 20],
    ] as const) {
      vendors.reset()
      double.playPolls(...Array.from({ length: 20 }, () => state(status)))
      await expectError(await ask(), { status: 502, code: 'provider_error' })
      expect(double.polls).to.have.length(polls)
      expect(double.calls).to.have.length(1)
      expect(await lastRow()).to.include({ outcome: 'unknown', cost_status: 'unknown' })
    }
  })

  it('ends with the deadline when its task never ends', async () => {
    double.workFor(1_000_000)
    await expectError(await ask(), { status: 504, code: 'timeout' })
    expect(double.calls).to.have.length(1)
    expect(await lastRow()).to.include({ outcome: 'unknown' })
  })

  it('is charged though its link has expired, and the error says so', async () => {
    double.playFetches({ status: 403, body: '<Error><Code>AuthenticationFailed</Code></Error>' })
    await expectError(await ask(), { status: 502, code: 'provider_error' })
    double.playFetches('paint')
    expect(double.calls).to.have.length(1)
    expect(await lastRow()).to.include({ cost_nano_usd: 30_000_000, cost_status: 'reported' })
  })

  it('names the field that the vendor refuses, though the vendor repeats the pictures', async () => {
    const raw = { width: 300, height: 300, channels: 3 as const }
    const noise = sharp(randomBytes(300 * 300 * 3), { raw })
    const url = `data:image/png;base64,${(await noise.png().toBuffer()).toString('base64')}`
    const parts = [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url } },
    ]
    for (const content of [prompt, parts]) {
      const messages = [{ role: 'user', content }]
      const body = { model, messages, image_config: { safety_tolerance: 6 } }
      const response = await vendors.post('/v1/chat/completions', body)
      const error = { status: 400, code: 'invalid_value', param: 'image_config.safety_tolerance' }
      const { message } = await expectError(response, error)
      expect(message).to.include('safety_tolerance: Input should be less than or equal to 5')
      expect(message).to.not.include('iVBOR')
    }
  })

  it('is polled by the id of its task if the vendor returns no address', async () => {
    double.play(begun({ polling_url: undefined }))
    double.playPolls(state('Content Moderated'))
    await expectError(await ask(), content)
    expect(double.polls).to.have.length(1)
  })

  it('is not polled where the vendor redirects to', async () => {
    const headers = { location: `${stranger.url}/get_result?id=x` }
    double.playPolls({ status: 302, headers }, { status: 307, headers })
    expect((await vendors.images(asked)).data).to.have.length(1)
    expect(stranger.requests).to.deep.equal([])
  })

  it('is downloaded at once, without the key', async () => {
    await vendors.images(asked)
    expect(double.fetches).to.have.length(1)
    expect(double.fetches[0]!.headers).to.not.have.any.keys('x-key', 'authorization')
    expect(double.polls.every(({ headers }) => headers['x-key'] !== undefined)).to.equal(true)
  })

  describe('is not polled elsewhere, since the request has the key,', () => {
    const addresses = (url: string) => [
      `${url}/v1/get_result?id=task-0-elsewhere`,
      url.replace('127.0.0.1', 'localhost'),
      'http://api.us1.bfl.ai/v1/get_result?id=x',
      'https://api.bfl.ai.attacker.example/v1/get_result?id=x',
      'https://evilbfl.ai/v1/get_result?id=x',
      'https://api.bfl.ai@attacker.example/x',
      'https://api.bfl.ai:8443/v1/get_result?id=x',
      'file:///etc/passwd',
      'no address',
    ]
    for (const [place, name] of addresses('http://127.0.0.1:port').entries()) {
      it(`such as ${name}`, async () => {
        double.play(begun({ polling_url: addresses(stranger.url)[place] }))
        const { message } = await expectError(await ask(), { status: 502, code: 'provider_error' })
        expect(message).to.include('outside of its domain').and.include('may have been made')
        expect(stranger.requests).to.deep.equal([])
        expect(double.polls).to.deep.equal([])
        expect(double.calls).to.have.length(1)
      })
    }

    it('and is asked by its id at a proxy, whose key is not for the vendor', async () => {
      const at = 'https://api.us1.bfl.ai/v1/get_result?id=task-0-elsewhere'
      double.play(begun({ polling_url: at }))
      double.playPolls(state('Content Moderated'))
      await expectError(await ask(), content)
      expect(double.polls.map(({ path }) => path)).to.deep.equal([
        '/get_result?id=task-0-elsewhere',
      ])
    })
  })

  describe('waits while too many are being made', () => {
    const busy = { status: 429, body: { detail: 'Too many concurrent requests' } }

    it('unless another model is left', async () => {
      double.play(busy)
      const { data } = await vendors.images({ ...asked, models: ['xai/grok-imagine-image-2.0'] })
      expect(data).to.have.length(1)
      expect(double.calls).to.have.length(1)
    })

    it('until one has ended', async () => {
      double.play(tooMany, busy, busy, 'paint')
      expect((await vendors.images(asked)).data).to.have.length(1)
      expect(double.calls).to.have.length(4)
      expect(await lastRow()).to.include({ outcome: 'ok', cost_nano_usd: 30_000_000 })
    })

    it('until the deadline, and then says why', async () => {
      double.play(...Array.from({ length: 1000 }, () => busy))
      const response = await ask()
      await expectError(response, { status: 429, code: 'rate_limit_exceeded' })
      expect(response.headers.get('retry-after')).to.not.equal(null)
      expect(double.calls.length).to.be.greaterThan(3)
      expect(await lastRow()).to.include({ outcome: 'failed', cost_nano_usd: 0 })
    })
  })

  it('of a job is finished by another process, at the same charge', async () => {
    double.workFor(1_000_000)
    const { gateway } = vendors
    const job = await startJob(gateway, { ...asked, images: [{ image_url: await small() }] })
    const stored = async () => {
      const row = gateway.db.selectFrom('image_jobs').select('tasks').where('id', '=', job.id)
      return JSON.parse((await row.executeTakeFirstOrThrow()).tasks) as Record<string, unknown>[]
    }
    await until('the task is stored', async () => (await stored()).length === 1)
    const [task] = await stored()
    expect(task).to.include({
      provider: 'bfl',
      upstreamModel: 'flux-2-pro',
      costNanoUsd: 45_000_000,
    })
    expect(task!['address']).to.match(/\/get_result\?id=task-/)
    const orphaned = { owner: 'elsewhere 1 x' }
    await gateway.db.updateTable('image_jobs').set(orphaned).where('id', '=', job.id).execute()
    for (const one of double.tasks.values()) one.pollsLeft = 0
    const ended = await endedJob(gateway, job.id)
    expect(ended.status, JSON.stringify(ended.error)).to.equal('completed')
    expect(double.calls).to.have.length(1)
    await until('the job has its row', async () => (await rowOf(gateway, job)) !== undefined)
    expect(await rowOf(gateway, job)).to.include({ outcome: 'ok', cost_nano_usd: 45_000_000 })
  })

  async function small(): Promise<string> {
    const bytes = await paint({ width: 64, height: 48, format: 'png', number: 1 })
    return `data:image/png;base64,${bytes.toString('base64')}`
  }
})
