import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import type { FormFile } from '../../support/image-doubles/form.ts'
import { fixture } from '../../support/image-doubles/double.ts'
import { ideogramKey } from '../../support/image-doubles/ideogram.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { callTool, connectClient, textOf } from '../../support/mcp-client.ts'
import { openAiClient } from '../../support/openai-client.ts'
import { look, type ChatImagesBody } from '../../support/pictures.ts'
import { pixel, pixelFile } from '../../support/pixel.ts'

const model = 'ideogram/ideogram-4-5'
const latest = 'ideogram/ideogram-4-6'
const precise = 'ideogram/ideogram-4-5-precise-edit'
const prompt = 'A red kite over dunes'
const generations = '/v1/images/generations'
const edits = '/v1/images/edits'
const images = [{ image_url: pixel }, { image_url: pixel }]
type Sent = Record<string, unknown> & { files?: FormFile[] }

describe('Ideogram makes generations', () => {
  let vendors: ImageVendors
  const start = async (limits = {}) => {
    vendors = await startImageVendors({ vendors: ['ideogram'], limits })
  }
  before(() => start())
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const double = () => vendors.doubles.ideogram
  const sent = () => double().calls.map(({ body }) => body as Sent)
  const lastRow = async () => (await vendors.gateway.usage()).at(-1)!
  const chat = (body: object) =>
    vendors.post('/v1/chat/completions', { messages: [{ role: 'user', content: prompt }], ...body })

  describe('from input pictures', () => {
    it('in a form with all of them, for the client of OpenAI', async () => {
      const client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
      const image = [pixelFile, pixelFile]
      const { data } = await client.images.edit({ model: latest, prompt, image, quality: 'low' })
      expect(data).to.have.length(1)
      const [{ files = [], ...fields }] = sent() as [Sent]
      expect(double().calls[0]!.path).to.equal('/v2/image/generate/ideogram-4-6')
      expect(fields).to.deep.equal({ prompt, num_images: 1, quality: 'low', async: true })
      expect(files.map(({ field, type }) => `${field} ${type}`)).to.deep.equal([
        'images image/png',
        'images image/png',
      ])
      expect(`data:image/png;base64,${files[0]!.bytes.toString('base64')}`).to.equal(pixel)
      expect(await lastRow()).to.include({ cost_nano_usd: 30_000_000, cost_status: 'reported' })
    })

    it('the first of which a precise edit changes, with references', async () => {
      const parts = images.map((image_url) => ({
        type: 'image_url',
        image_url: { url: image_url.image_url },
      }))
      const content = [{ type: 'text', text: prompt }, ...parts]
      const config = { quality: 'very_low' }
      const messages = [{ role: 'user', content }]
      expect((await chat({ model: precise, messages, image_config: config })).status).to.equal(200)
      const [{ files = [] }] = sent() as [Sent]
      expect(double().calls[0]!.path).to.equal('/v2/image/precise-edit/ideogram-4-5')
      expect(files.map(({ field }) => field)).to.deep.equal(['image', 'reference_images'])
      expect(await lastRow()).to.include({ cost_nano_usd: 8_000_000, cost_status: 'reported' })
    })

    it('at the double of a size that edits do not make', async () => {
      const config = { aspect_ratio: '16:9', image_size: '1K' }
      await chat({ model, image_config: config })
      const content = [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: pixel } },
      ]
      await chat({ model, image_config: config, messages: [{ role: 'user', content }] })
      expect(sent().map(({ size }) => size)).to.deep.equal(['1280x720', '2560x1440'])
    })

    it('never with a transparent background, which is refused before the call', async () => {
      const body = { model: latest, prompt, images, background: 'transparent' }
      const refused = { status: 400, code: 'unsupported_parameter', param: 'background' }
      await expectError(await vendors.post(edits, body), refused)
      expect(sent()).to.deep.equal([])
      const opaque = await vendors.images({ ...body, background: 'opaque' })
      expect(opaque.data).to.have.length(1)
    })

    it('of at most five, which is refused before the call', async () => {
      const body = { model, prompt, images: Array.from({ length: 6 }, () => images[0]) }
      const refused = { status: 400, code: 'model_capability_mismatch', param: 'images' }
      await expectError(await vendors.post(edits, body), refused)
      expect(sent()).to.deep.equal([])
    })
  })

  it('in any size on the grid of Ideogram 4.6, in a form', async () => {
    const body = { model: latest, prompt, size: '1000x700', background: 'transparent', n: 2 }
    const { data, warnings } = await vendors.images(body)
    expect(warnings!.map(({ param }) => param)).to.deep.equal(['size'])
    expect(await look(data[1]!.b64_json)).to.include({ width: 1000, height: 700 })
    const [{ files, ...fields }] = sent() as [Sent]
    expect(files).to.deep.equal([])
    expect(fields).to.include({ size: '1024x704', background: 'transparent', num_images: 2 })
  })

  it('with the options of image_config', async () => {
    const config = { magic_prompt: 'off', enable_copyright_detection: true, seed: 7 }
    const response = await chat({ model, image_config: { ...config, quality: 'low', n: 2 } })
    expect(response.status).to.equal(200)
    const wire = { prompt, num_images: 2, quality: 'low', ...config, async: true }
    expect(sent()).to.deep.equal([wire])
    const { usage } = (await response.json()) as ChatImagesBody
    expect(usage).to.include({ cost: 0.06, cost_status: 'reported' })
  })

  for (const [param, value] of Object.entries({
    magic_prompt: 'maybe',
    rendering_speed: 'turbo',
  })) {
    it(`and refuses image_config.${param} ${value}`, async () => {
      const response = await chat({ model, image_config: { [param]: value } })
      const { param: named } = await expectError(response, {
        status: 400,
        code: param === 'magic_prompt' ? 'invalid_value' : 'unknown_parameter',
      })
      expect(named).to.equal(`image_config.${param}`)
    })
  }

  it('and refuses a class that it lacks, with the ones that it has', async () => {
    const response = await chat({ model, image_config: { image_size: '4K' } })
    const refused = { status: 400, code: 'invalid_value', param: 'image_config.image_size' }
    const { message } = await expectError(response, refused)
    expect(message).to.contain('Expected: A class, `1K` or `2K`, beside an aspect ratio; or pixels')
  })

  it('from a text before a picture, as an edit in its ratio', async () => {
    const url = { url: pixel }
    const content = [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: url },
    ]
    const config = { aspect_ratio: '3:2' }
    await chat({ model, messages: [{ role: 'user', content }], image_config: config })
    const [{ size, files = [] }] = sent() as [Sent]
    expect([size, files.length]).to.deep.equal(['2496x1664', 1])
  })

  it('and returns the prompt that the vendor wrote', async () => {
    const { data } = await vendors.images({ model, prompt })
    expect(data[0]!.revised_prompt).to.equal(`${prompt}, in fine detail`)
  })

  it('whose pictures are fetched without the key, and labelled by their bytes', async () => {
    const bytes = await paint({ width: 64, height: 48, format: 'jpeg', number: 5 })
    double().playFetches({ body: bytes })
    const answer = await vendors.images({ model, prompt })
    expect(answer).to.include({ output_format: 'jpeg', size: '64x48' })
    expect(JSON.stringify(double().fetches.map(({ headers }) => headers))).to.not.include(
      ideogramKey,
    )
  })

  it('whose charge is estimated when the vendor reports none', async () => {
    const url = `${double().url}/pictures/1.png`
    const data = [{ url, prompt, resolution: '64x48', seed: 1, is_image_safe: true }]
    double().playPolls({ body: { generation_id: 'x', status: 'completed', data } })
    double().playFetches({ body: await paint({ width: 64, height: 48, format: 'png', number: 1 }) })
    await vendors.images({ model, prompt, quality: 'low' })
    expect(await lastRow()).to.include({ cost_nano_usd: 30_000_000, cost_status: 'estimated' })
  })

  describe('that are withheld', () => {
    const refusal = { status: 400, code: 'content_policy_violation' }
    const cases = [
      { n: 1, withheld: 1, cost: 100_000_000 },
      { n: 4, withheld: 1, cost: 400_000_000 },
      { n: 10, withheld: 2, cost: 1_000_000_000 },
    ]
    for (const { n, withheld, cost } of cases) {
      it(`which is charged: ${withheld} of ${n}`, async () => {
        const response = await vendors.post(generations, {
          model,
          prompt: `${prompt}, withhold ${withheld}`,
          n,
        })
        expect(response.headers.get('x-should-retry')).to.equal('false')
        const { message } = await expectError(response, refusal)
        expect(message).to.match(/^The provider withheld \d of \d pictures? as unsafe/)
        const row = await lastRow()
        expect(row).to.include({ outcome: 'failed', cost_status: 'reported' })
        expect(row.cost_nano_usd).to.be.within(cost * 0.8, cost)
        if (n < 10) expect(row).to.include({ cost_nano_usd: cost, images: n })
      })
    }

    it('in a chat and in the tool', async () => {
      const messages = [{ role: 'user', content: `${prompt}, withhold 1` }]
      await expectError(await chat({ model, messages }), refusal)
      const client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
      const asked = { prompt: `${prompt}, withhold 1`, model }
      const answer = await callTool(client, 'generate-image', asked)
      await client.close()
      expect(answer.isError).to.equal(true)
      expect(textOf(answer)).to.contain('withheld 1 of 1')
      expect(await lastRow()).to.include({ face: 'mcp', cost_nano_usd: 100_000_000 })
    })
  })

  it('in the tool', async () => {
    const client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
    const answer = await callTool(client, 'generate-image', { prompt, model, size: '1024x1024' })
    await client.close()
    expect(textOf(answer)).to.match(
      /^1 picture by ideogram\/ideogram-4-5, 1024x1024 PNG, for \$0\.1\b/,
    )
  })

  describe('of which ten pictures at once', () => {
    it('are made, and others wait until some have ended', async () => {
      double().workFor(20)
      const answers = await Promise.all([
        vendors.images({ model, prompt, n: 8 }),
        vendors.images({ model, prompt: `${prompt} 2`, n: 8 }),
      ])
      expect(answers.flatMap(({ data }) => data)).to.have.length(16)
      expect(double().calls.length).to.be.greaterThan(2)
    })

    it('are reported as a limit of the rate at the deadline', async () => {
      await vendors.stop()
      await start({ image_timeout_ms: 1000 })
      try {
        const busy = fixture('ideogram/inflight-limit')
        double().play(...Array.from({ length: 500 }, () => busy))
        const response = await vendors.post(generations, { model, prompt })
        await expectError(response, { status: 429, code: 'rate_limit_exceeded' })
        expect(double().calls.length).to.be.greaterThan(1)
        expect(await lastRow()).to.include({ outcome: 'failed', cost_nano_usd: 0 })
      } finally {
        await vendors.stop()
        await start()
      }
    })
  })

  const ends = [
    { name: 'fails', state: { status: 'failed', failure_reason: 'internal_error' }, status: 502 },
    {
      name: 'fails by a policy',
      state: { status: 'failed', failure_reason: 'content_policy_violation' },
      status: 400,
    },
    { name: 'has no pictures', state: { status: 'completed', data: [] }, status: 502 },
    { name: 'ends in an unknown state', state: { status: 'archived' }, status: 502 },
  ]
  for (const { name, state, status } of ends) {
    it(`and reports one that ${name}`, async () => {
      double().playPolls(...Array.from({ length: 30 }, () => ({ body: state })))
      const response = await vendors.post(generations, { model, prompt })
      expect(response.status).to.equal(status)
      expect(sent()).to.have.length(1)
    })
  }
})
