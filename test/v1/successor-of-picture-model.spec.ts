import { expect } from 'chai'
import { readCatalogRows, statusAt } from '../../src/catalog/catalog.ts'
import { expectError } from '../support/expect-error.ts'
import { fixture } from '../support/image-doubles/double.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { pixel } from '../support/pixel.ts'

const model = 'alibaba/qwen-image-plus'
const next = 'alibaba/qwen-image-3.0'
const prompt = 'A red kite over dunes'
const gone = fixture('alibaba/model-not-found')

describe('the successor of a deprecated picture model', () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors({ vendors: ['alibaba'] })))
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const asked = () =>
    vendors.doubles.alibaba.calls.map(({ body }) => (body as { model: string }).model)
  const ask = (body: object = {}, headers: Record<string, string> = {}, key?: string) =>
    vendors.post(
      '/v1/images/generations',
      { model, prompt, ...body },
      { headers, ...(key && { key }) },
    )

  it('is not asked while the vendor has the model, and gives no warning', async () => {
    const answer = await vendors.images({ model, prompt })
    expect(answer.warnings ?? []).to.deep.equal([])
    expect(answer.usage).to.include({ cost: 0.03, cost_status: 'exact' })
    expect(asked()).to.deep.equal(['qwen-image-plus'])
  })

  it('answers with a warning when the vendor no longer has the model', async () => {
    vendors.doubles.alibaba.play(gone, 'paint')
    const response = await ask()
    expect(response.status).to.equal(200)
    expect(response.headers.get('x-gateway-model')).to.equal(next)
    const { warnings } = (await response.json()) as { warnings: unknown }
    const reason = `The vendor no longer has ${model}; its successor answers.`
    expect(warnings).to.deep.equal([{ param: 'model', requested: model, applied: next, reason }])
    expect(asked()).to.deep.equal(['qwen-image-plus', 'qwen-image-3.0'])
    const row = (await vendors.gateway.usage()).at(-1)!
    expect(row).to.include({ model: next, cost_nano_usd: 30_000_000, cost_status: 'estimated' })
  })

  it('answers in a chat, and for the default model of the tool', async () => {
    vendors.doubles.alibaba.play(gone, 'paint', gone, 'paint')
    const messages = [{ role: 'user', content: prompt }]
    const response = await vendors.post('/v1/chat/completions', { model, messages })
    expect(response.headers.get('x-gateway-model')).to.equal(next)
    const client = await connectClient(vendors.gateway, vendors.gateway.liveKey)
    const answer = await callTool(client, 'generate-image', { prompt })
    await client.close()
    expect(textOf(answer)).to.contain(`1 picture by ${next}`).and.contain('Note on model')
    expect(asked()).to.deep.equal([
      'qwen-image-plus',
      'qwen-image-3.0',
      'qwen-image-plus',
      'qwen-image-3.0',
    ])
  })

  for (const name of ['unavailable', 'throttled', 'arrearage', 'invalid-parameter']) {
    it(`is not asked after another failure: ${name}`, async () => {
      vendors.doubles.alibaba.play(fixture(`alibaba/${name}`))
      expect((await ask()).status).to.be.oneOf([400, 429, 502])
      expect(asked()).to.deep.equal(['qwen-image-plus'])
    })
  }

  const strict = { 'x-gateway-strict': 'true' }
  for (const headers of [strict, { 'x-gateway-no-fallback': 'true' }]) {
    it(`is not asked with ${Object.keys(headers)[0]}`, async () => {
      vendors.doubles.alibaba.play(gone)
      const response = await ask({}, headers)
      await expectError(response, { status: 404, code: 'model_not_found' })
      expect(asked()).to.deep.equal(['qwen-image-plus'])
    })
  }

  it('is not asked for a key that may not use it', async () => {
    vendors.doubles.alibaba.play(gone)
    const key = await vendors.gateway.createKey('live', { models: [model] })
    await expectError(await ask({}, {}, key), { status: 404, code: 'model_not_found' })
    expect(asked()).to.deep.equal(['qwen-image-plus'])
  })

  it('is not asked for what the model itself refuses', async () => {
    const edit = { model, prompt, images: [{ image_url: pixel }] }
    const response = await vendors.post('/v1/images/edits', edit)
    const refused = { status: 400, code: 'model_capability_mismatch' }
    const { message } = await expectError(response, refused)
    expect(message).to.contain(model).and.not.contain(next)
    expect(asked()).to.deep.equal([])
  })

  it('is not asked before the fallback models of the request', async () => {
    vendors.doubles.alibaba.play(gone, 'paint')
    const response = await ask({ models: ['alibaba/qwen-image-2.0'] })
    expect(response.headers.get('x-gateway-model')).to.equal('alibaba/qwen-image-2.0')
  })

  it('is not a route of a quote', async () => {
    const quote = { operation: 'createImage', request: { model, prompt } }
    const response = await vendors.post('/v1/prices', quote)
    const { routes } = (await response.json()) as { routes: { model: string }[] }
    expect(routes.map((route) => route.model)).to.deep.equal([model])
  })
})

describe('the picture models on 2026-12-01', () => {
  const rows = readCatalogRows().filter(({ image }) => image !== undefined)
  const statuses = new Map(rows.map((row) => [row.id, statusAt(row, Date.parse('2026-12-01'))]))

  it('have a successor in use if they are deprecated or switched off', () => {
    const old = rows.filter(({ id }) => statuses.get(id) !== 'active')
    expect(old.map(({ id }) => id)).to.include.members(['gpt-image-1.5', 'gpt-image-1-mini'])
    // This model had no successor when it was switched off: its name returns 410 (catalog/retired.json).
    for (const { id, successor = '' } of old.filter((row) => row.id !== 'gpt-image-1'))
      expect(statuses.get(successor), id).to.equal('active')
  })

  it('have no default with an end date', () => {
    for (const id of ['gemini-3-pro-image-preview', model]) {
      const row = rows.find((one) => one.id === id)!
      expect(row, id).to.not.have.property('deactivated_at')
    }
  })
})
