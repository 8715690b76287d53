import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import { fixture, type ImageDouble } from '../../support/image-doubles/double.ts'
import {
  startImageVendors,
  type ImagesBody,
  type ImageVendors,
} from '../../support/image-vendors.ts'
import { openAiClient } from '../../support/openai-client.ts'
import { pixel } from '../../support/pixel.ts'
import type { ScriptedAnswer } from '../../support/upstream.ts'

const prompt = 'A red kite over dunes'
const schnell = 'fal/fal-ai/flux/schnell'
/** An endpoint that is in no list. */
const paints = 'fal/someone/paints'
const priced = 'fal/someone/paints/edit'
const picture = { image_url: pixel }
const wide = 'fal/someone/paints/wide'
const unitPrice = (usd: string, unit: string) => ({ pricing: { unit_price: { usd, unit } } })
const file = {
  catalog: { [priced]: unitPrice('0.02', 'second'), [wide]: unitPrice('0.02', 'megapixel') },
}

describe('an endpoint of fal', () => {
  let vendors: ImageVendors
  let double: ImageDouble
  before(async () => {
    vendors = await startImageVendors({ vendors: ['fal'], file })
    double = vendors.doubles.fal
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const ask = (body: object, init = {}) =>
    vendors.post('/v1/images/generations', { model: schnell, prompt, ...body }, init)
  const bodies = () => double.calls.map(({ body }) => body)
  const paths = () => double.calls.map(({ path }) => path)
  const lastRow = async () => (await vendors.gateway.usage()).at(-1)!
  /** Plays the state of the task and then its result. */
  const playResult = (...results: ScriptedAnswer[]) => double.playPolls('paint', ...results)

  it('is asked for its state with the key, and for the picture without it', async () => {
    double.workFor(2)
    await vendors.images({ model: schnell, prompt })
    const [id] = [...double.tasks.keys()].slice(-1)
    const task = `/fal-ai/flux/requests/${id}`
    expect(double.polls.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      `GET ${task}/status`,
      `GET ${task}/status`,
      `GET ${task}/status`,
      `GET ${task}`,
    ])
    expect(double.fetches).to.have.length(1)
    expect(double.fetches[0]!.headers).to.not.have.property('authorization')
  })

  it('is asked at the path that it names, if that is one of fal', async () => {
    const id = `task-0-${'0123456789abcdef'.repeat(2)}`
    await vendors.images({ model: schnell, prompt })
    const [begun = id] = [...double.tasks.keys()].slice(-1)
    const state = `/owner/app/quality/requests/${begun}/status`
    for (const [host, asked] of [
      ['https://queue.fal.run', state],
      ['https://queue.fal.run.evil.example', `/fal-ai/flux/requests/${begun}/status`],
      ['http://queue.fal.run', `/fal-ai/flux/requests/${begun}/status`],
      ['https://queue.fal.run/..', `/fal-ai/flux/requests/${begun}/status`],
    ] as const) {
      const polls = double.polls.length
      double.play({ body: { request_id: begun, status_url: host + state } })
      await vendors.images({ model: schnell, prompt })
      expect(double.polls[polls]!.path, host).to.equal(asked)
      expect(double.polls[polls + 1]!.path).to.equal(asked.replace('/status', ''))
    }
  })

  it('edits with the pictures of the official client, at its own name for edits', async () => {
    const client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
    const bytes = Buffer.from(pixel.split(',')[1]!, 'base64')
    const upload = new File([bytes], 'pixel.png', { type: 'image/png' })
    const image = [upload, upload]
    const { data } = await client.images.edit({ model: 'fal/fal-ai/flux-2', prompt, image })
    expect(data).to.have.length(1)
    expect(paths()).to.deep.equal(['/fal-ai/flux-2/edit'])
    expect(bodies()).to.deep.equal([{ prompt, num_images: 1, image_urls: [pixel, pixel] }])
    expect(double.polls.at(-1)!.path).to.match(/^\/fal-ai\/flux-2\/requests\/task-/)
  })

  it('gets one picture as image_url if it takes one', async () => {
    await vendors.images({ model: 'fal/fal-ai/qwen-image-edit', prompt, images: [picture] })
    expect(bodies()).to.deep.equal([{ prompt, num_images: 1, image_url: pixel }])
    const three = { model: 'fal/fal-ai/qwen-image-edit', prompt, images: [picture, picture] }
    await expectError(await vendors.post('/v1/images/edits', three), {
      status: 400,
      code: 'model_capability_mismatch',
    })
  })

  describe('costs', () => {
    const rows: [name: string, body: object, cost: ImagesBody['usage']['cost']][] = [
      ['each megapixel', { size: '1024x1024', n: 2 }, 0.006],
      ['a part of a megapixel as a whole', { size: '1024x1056' }, 0.006],
      ['each picture', { model: 'fal/fal-ai/imagen4/preview', n: 3 }, 0.12],
      ['by its size class', { model: 'fal/fal-ai/nano-banana-2', size: '4096x4096' }, 0.16],
    ]
    for (const [name, body, cost] of rows) {
      it(`the units that it reports: ${name}`, async () => {
        const { usage } = await vendors.images({ model: schnell, prompt, ...body })
        expect(usage).to.include({ cost, cost_status: 'reported' })
      })
    }

    it('the first megapixel more than further ones, with the price of the catalog', async () => {
      const { usage } = await vendors.images({
        model: 'fal/fal-ai/flux-2-pro',
        prompt,
        size: '1536x1024',
        images: [picture],
      })
      expect(usage).to.include({ cost: 0.06, cost_status: 'estimated' })
    })

    it('fractions of units, rounded once', async () => {
      const { url } = double
      const body = { images: [{ url: `${url}/pictures/none` }] }
      double.playFetches({ body: Buffer.from(pixel.split(',')[1]!, 'base64') })
      playResult({ headers: { 'x-fal-billable-units': '3.0085' }, body })
      const { usage } = await vendors.images({ model: priced, prompt })
      expect(usage).to.include({ cost: 0.06017, cost_status: 'reported' })
    })

    it('what the catalog says if it reports no units, or no number', async () => {
      for (const units of ['many', '-1', '1e9', '']) {
        double.playFetches({ body: Buffer.from(pixel.split(',')[1]!, 'base64') })
        const body = { images: [{ url: `${double.url}/pictures/none` }] }
        playResult({ headers: { 'x-fal-billable-units': units }, body })
        const { usage } = await vendors.images({ model: schnell, prompt, size: '1024x1024' })
        expect(usage, units).to.include({ cost: 0.003, cost_status: 'estimated' })
      }
    })

    it('what the operator says: each megapixel, or an unknown number of seconds', async () => {
      for (const [model, size, cost, status] of [
        [wide, '640x480', 0.02, 'exact'],
        [wide, '1536x1024', 0.04, 'exact'],
        [priced, '640x480', null, 'unknown'],
      ] as const) {
        double.playFetches({ body: Buffer.from(pixel.split(',')[1]!, 'base64') })
        playResult({ body: { image: `${double.url}/pictures/none` } })
        const { usage } = await vendors.images({ model, prompt, size })
        expect(usage, size).to.include({ cost, cost_status: status })
      }
    })

    it('an unknown amount outside of the catalog', async () => {
      const { usage, data } = await vendors.images({ model: paints, prompt, n: 2, size: '640x480' })
      expect(data).to.have.length(2)
      expect(usage).to.include({ cost: null, cost_status: 'unknown' })
      const body = { prompt, image_size: { width: 640, height: 480 } }
      expect(bodies()).to.deep.equal([body, body])
    })
  })

  it('outside of the catalog gets pictures under both names, or under the name for several', async () => {
    await vendors.images({ model: paints, prompt, images: [picture] })
    await vendors.images({ model: paints, prompt, images: [picture, picture] })
    expect(bodies()).to.deep.equal([
      { prompt, image_url: pixel, image_urls: [pixel] },
      { prompt, image_urls: [pixel, pixel] },
    ])
  })

  it('has a name that is no other path', async () => {
    for (const name of [
      'x',
      '../x',
      'someone/..',
      'someone/paints?x=1',
      'a/b/requests/c',
      'a//b',
    ]) {
      const response = await ask({ model: `fal/${name}` })
      await expectError(response, { status: 404, code: 'model_not_found' })
    }
    expect(double.calls).to.deep.equal([])
  })

  describe('that fails', () => {
    const spent = { 'x-fal-billable-units': '2' }

    it('by a refusal of the content costs what it reports, else an unknown amount', async () => {
      const refusal = { status: 400, code: 'content_policy_violation' }
      playResult(fixture('fal/unsafe'))
      const { message } = await expectError(await ask({}), refusal)
      expect(message).to.include('flagged by a content checker')
      expect(await lastRow()).to.include({ outcome: 'failed', cost_status: 'unknown' })
      playResult({ ...fixture('fal/unsafe'), headers: spent })
      await expectError(await ask({}), refusal)
      expect(await lastRow()).to.include({ cost_nano_usd: 6_000_000, cost_status: 'reported' })
      expect(double.calls, 'not asked again').to.have.length(2)
    })

    it('by a parameter names it', async () => {
      playResult(fixture('fal/illegal-size'))
      const { param } = await expectError(await ask({}), { status: 400, code: 'invalid_value' })
      expect(param).to.equal('image_size.width')
    })

    for (const [name, kind] of [
      ['server-error', 'overloaded'],
      ['startup-timeout', 'timeout'],
      ['generation-timeout', 'timeout'],
      ['downstream', 'overloaded'],
    ] as const) {
      it(`with ${name} is not asked for the result again, and is free`, async () => {
        playResult(fixture(`fal/${name}`))
        await ask({})
        const row = await lastRow()
        expect(row.attempts).to.include(`"outcome":"${kind}"`)
        if (kind === 'overloaded') expect(row).to.include({ cost_nano_usd: 0 })
        expect(double.polls).to.have.length(2)
      })
    }

    it('by the word of a proxy alone is asked for the result again', async () => {
      const page = { status: 502, body: '<html>Bad gateway</html>' }
      playResult(page, { reset: 'before' }, { status: 429, body: {} }, { body: '{' })
      const { data } = await vendors.images({ model: schnell, prompt })
      expect(data).to.have.length(1)
      expect(double.calls).to.have.length(1)
    })

    it('to be in a known state is asked again for a while, and never made again', async () => {
      const states = [{ status: 'LOST' }, { status: 'FAILED' }, [], {}]
      double.playPolls(...states.map((body) => ({ body })), 'paint')
      expect((await vendors.images({ model: schnell, prompt })).data).to.have.length(1)
      double.playPolls(...Array.from({ length: 20 }, () => ({ body: { status: 'LOST' } })))
      const { message } = await expectError(await ask({}), { status: 502, code: 'provider_error' })
      expect(message).to.include('unknown state')
      expect(await lastRow()).to.include({ outcome: 'unknown', cost_status: 'unknown' })
      expect(double.calls).to.have.length(2)
    })

    it('to deliver the picture that it made is charged', async () => {
      const gone = { status: 403, body: 'expired' }
      for (const answer of [gone, { body: '<html>' }, { body: '{"detail":"x"}' }]) {
        double.playFetches(answer, answer)
        await expectError(await ask({}), { status: 502, code: 'provider_error' })
        expect(await lastRow()).to.include({ cost_nano_usd: 3_000_000, cost_status: 'reported' })
      }
    })

    it('with black pictures is a refusal that is charged', async () => {
      for (const marks of [
        { has_nsfw_concepts: [false, true] },
        { nsfw_content_detected: [true] },
      ]) {
        const images = [{ url: 'https://x.example/1' }, { url: 'https://x.example/2' }]
        playResult({ headers: spent, body: { images, ...marks } })
        const refusal = { status: 400, code: 'content_policy_violation' }
        await expectError(await ask({ n: 2 }), refusal)
        expect(await lastRow()).to.include({ cost_nano_usd: 6_000_000, cost_status: 'reported' })
      }
      expect(double.fetches).to.deep.equal([])
    })

    it('to return a picture is named', async () => {
      const shapes = [{ video: { url: 'https://x.example/v.mp4' }, seed: 1 }, { images: [] }, {}]
      for (const body of shapes) {
        playResult({ body })
        const response = await ask({ model: paints })
        const { message, param } = await expectError(response, {
          status: 400,
          code: 'invalid_value',
        })
        expect(message).to.include("'someone/paints' of fal returned no picture")
        expect(message).to.include(Object.keys(body).join(', '))
        expect(param).to.equal('model')
        expect(await lastRow()).to.include({ outcome: 'failed', cost_status: 'unknown' })
      }
      expect(double.calls).to.have.length(shapes.length)
    })
  })

  it('may return one picture, or a text in its place', async () => {
    const url = `${double.url}/pictures/none`
    for (const body of [{ image: { url } }, { image: url }, { images: [url, url, url] }]) {
      double.playFetches({ body: Buffer.from(pixel.split(',')[1]!, 'base64') })
      playResult({ body })
      const { data } = await vendors.images({ model: paints, prompt })
      expect(data, JSON.stringify(body)).to.have.length(1)
    }
  })
})
