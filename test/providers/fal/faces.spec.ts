import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import { fixture, type ImageDouble } from '../../support/image-doubles/double.ts'
import { falKey } from '../../support/image-doubles/fal.ts'
import { endedJob, rowOf, startJob } from '../../support/image-jobs.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { callTool, connectClient, picturesOf, textOf } from '../../support/mcp-client.ts'
import { lookAtUrl, type ChatImagesBody } from '../../support/pictures.ts'
import { until } from '../../support/until.ts'
import type { ScriptedAnswer } from '../../support/upstream.ts'

const prompt = 'A red kite over dunes'
const schnell = 'fal/fal-ai/flux/schnell'
/** An endpoint that is in no list. */
const paints = 'fal/someone/paints'
const bounds = { taskPollMs: 6, backgroundRecheckMs: 20, processLeaseMs: 10 }

describe('an endpoint of fal', () => {
  let vendors: ImageVendors
  let double: ImageDouble
  before(async () => {
    vendors = await startImageVendors({ vendors: ['fal'], bounds })
    double = vendors.doubles.fal
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const chat = (body: object) => {
    const messages = [{ role: 'user', content: prompt }]
    return vendors.post('/v1/chat/completions', { model: schnell, messages, ...body })
  }
  const bodies = () => double.calls.map(({ body }) => body)
  /** Plays the state of the task and then its result. */
  const playResult = (...results: ScriptedAnswer[]) => double.playPolls('paint', ...results)

  describe('in a chat', () => {
    const answered = async (response: Response) => {
      const text = await response.text()
      expect(response.status, text).to.equal(200)
      return JSON.parse(text) as ChatImagesBody
    }

    it('gets further members of its input', async () => {
      const input = {
        negative_prompt: 'blurry',
        loras: [{ path: 'x', scale: 0.5 }],
        use_turbo: true,
      }
      const config = { image_size: '512x512', n: 2, seed: 7, output_format: 'png', input }
      const response = await chat({ model: 'fal/fal-ai/qwen-image', image_config: config })
      const { choices, warnings } = await answered(response)
      expect(choices[0]!.message.images).to.have.length(2)
      expect(await lookAtUrl(choices[0]!.message.images[0]!.image_url.url)).to.deep.equal({
        format: 'png',
        width: 512,
        height: 512,
      })
      expect(warnings).to.equal(undefined)
      const size = { width: 512, height: 512 }
      const named = { num_images: 2, seed: 7, output_format: 'png', image_size: size }
      expect(bodies()).to.deep.equal([{ ...input, prompt, ...named }])
    })

    it('makes pictures without image_config, though it is in no list', async () => {
      const { choices, usage } = await answered(await chat({ model: paints }))
      expect(choices[0]!.message.images).to.have.length(1)
      expect(usage).to.include({ cost: null, cost_status: 'unknown' })
    })

    it('takes a ratio and a class', async () => {
      const image_config = { aspect_ratio: '16:9', image_size: '2K' }
      await answered(await chat({ model: 'fal/fal-ai/nano-banana-pro', image_config }))
      expect(bodies()).to.deep.equal([
        { prompt, aspect_ratio: '16:9', resolution: '2K', num_images: 1 },
      ])
    })

    for (const input of [
      { num_images: 8 },
      { sync_mode: true },
      { prompt: 'another' },
      { image_urls: ['https://x.example'] },
      { 'Not a name': 1 },
      { text: 'x'.repeat(8193) },
      Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`m${index}`, 1])),
    ]) {
      it(`refuses the input ${JSON.stringify(input).slice(0, 40)}`, async () => {
        const response = await chat({ image_config: { input } })
        const { param } = await expectError(response, {
          status: 400,
          code: 'invalid_value',
        })
        expect(param).to.match(/^image_config\.input/)
        expect(double.calls).to.deep.equal([])
      })
    }
  })

  it('makes pictures for the tool, and tells it of a refusal', async () => {
    const client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
    const call = { prompt, model: schnell, size: '1024x768' }
    const made = await callTool(client, 'generate-image', call)
    expect(picturesOf(made)).to.have.length(1)
    expect(textOf(made)).to.include('$0.003')
    playResult(fixture('fal/unsafe'))
    const refused = await callTool(client, 'generate-image', { ...call, prompt: 'Another' })
    expect(refused.isError).to.equal(true)
    expect(textOf(refused)).to.include('flagged by a content checker')
    await client.close()
  })

  describe('in a job', () => {
    it('that another process began is asked for the picture alone', async () => {
      double.workFor(1000)
      const job = await startJob(vendors.gateway, { model: schnell, prompt, n: 2 })
      await until('the task is stored', () => double.polls.length > 1)
      const jobs = vendors.gateway.db.updateTable('image_jobs')
      await jobs.set({ owner: 'elsewhere 1 x' }).where('id', '=', job.id).execute()
      for (const task of double.tasks.values()) task.pollsLeft = 0
      const ended = await endedJob(vendors.gateway, job.id)
      expect(ended.status, JSON.stringify(ended.error)).to.equal('completed')
      expect(ended.result!.data).to.have.length(2)
      expect(double.calls, 'not bought again').to.have.length(1)
    })

    for (const [state, cost] of [
      ['waiting', { cost_nano_usd: 0, cost_status: 'exact' }],
      ['running', { cost_status: 'unknown' }],
    ] as const) {
      it(`is cancelled while it is ${state}`, async () => {
        double.workFor(state === 'running' ? 1000 : 0)
        const queued = { status: 202, body: { status: 'IN_QUEUE' } }
        if (state === 'waiting') double.playPolls(...Array.from({ length: 50 }, () => queued))
        const job = await startJob(vendors.gateway, { model: schnell, prompt })
        await until('the task is polled', () => double.polls.length > 1)
        if (state === 'waiting') for (const task of double.tasks.values()) task.state = 'waiting'
        const init = { method: 'POST', key: vendors.gateway.liveKey }
        await vendors.gateway.fetch(`/v1/images/jobs/${job.id}/cancel`, init)
        await until('it is cancelled', () => double.polls.some(({ method }) => method === 'PUT'))
        await until('it has a row', async () => (await rowOf(vendors.gateway, job)) !== undefined)
        expect(await rowOf(vendors.gateway, job)).to.include(cost)
      })
    }
  })

  it('has a key that is tested for free, at the address of a proxy too', async () => {
    const { gateway } = vendors
    const test = async (key: string) => {
      const init = { key: gateway.adminKey }
      const response = await gateway.post('/api/providers/fal/key-test', { key }, init)
      return (await response.json()) as { accepted: boolean; message: string }
    }
    expect(await test(falKey)).to.include({
      accepted: true,
      message: 'fal.ai accepts the key.',
    })
    expect(await test('another-key-0123456789')).to.include({
      accepted: false,
      message:
        'fal.ai rejects the key (HTTP 401): No user found for Key ID and Secret Key [removed].',
    })
  })

  it('is cancelled at the deadline of a call, and is free while it is in the queue', async () => {
    const late = await startImageVendors({
      vendors: ['fal'],
      limits: { image_timeout_ms: 300 },
      bounds,
    })
    const { fal } = late.doubles
    try {
      for (const cost of [
        { cost_nano_usd: 0, cost_status: 'exact' },
        { outcome: 'unknown', cost_status: 'unknown' },
      ]) {
        const isQueued = 'cost_nano_usd' in cost
        const queued = { status: 202, body: { status: 'IN_QUEUE' } }
        if (isQueued) fal.playPolls(...Array.from({ length: 500 }, () => queued))
        else fal.workFor(1000)
        const body = { model: schnell, prompt }
        const response = await late.post('/v1/images/generations', body)
        await expectError(response, { status: 504, code: 'timeout' })
        expect(fal.polls.filter(({ method }) => method === 'PUT')).to.have.length(1)
        expect((await late.gateway.usage()).at(-1)).to.include(cost)
        late.reset()
      }
    } finally {
      await late.stop()
    }
  })
})
