import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { pixel, pixelFile } from '../support/pixel.ts'

const prompt = 'A paper boat on a pond'
const first = 'gemini-3-pro-image-preview'
const second = 'bytedance/seedream-4-0'
const firstUsd = 0.13583
const secondUsd = 0.035
const down = { status: 503, body: { error: { code: 503, message: 'down', status: 'UNAVAILABLE' } } }

describe('the fallback models of an image request', () => {
  let vendors: ImageVendors
  before(async () => (vendors = await startImageVendors({ vendors: ['google', 'bytedance'] })))
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const generations = '/v1/images/generations'
  const edits = '/v1/images/edits'
  const ask = (path: string, body: object, headers = {}) =>
    vendors.post(path, { model: first, models: [second], prompt, ...body }, { headers })

  for (const [path, more] of [
    [generations, {}],
    [edits, { images: [{ image_url: pixel }] }],
  ] as const) {
    it(`are not called while the first model answers: ${path}`, async () => {
      const response = await ask(path, more)
      expect(response.status).to.equal(200)
      expect(response.headers.get('x-gateway-model')).to.equal(first)
      expect(vendors.doubles.bytedance.calls).to.deep.equal([])
    })

    it(`answer when the first model fails: ${path}`, async () => {
      vendors.doubles.google.play(down)
      const response = await ask(path, more)
      expect(response.headers.get('x-gateway-model')).to.equal(second)
      expect(response.headers.get('x-gateway-attempts')).to.equal('google=overloaded, bytedance=ok')
      expect(response.status).to.equal(200)
    })

    it(`are not called without fallback: ${path}`, async () => {
      vendors.doubles.google.play(down)
      const response = await ask(path, more, { 'x-gateway-no-fallback': 'true' })
      await expectError(response, { status: 502, code: 'provider_error' })
      expect(vendors.doubles.bytedance.calls).to.deep.equal([])
    })
  }

  const askForm = (models: string[]) => {
    const body = new FormData()
    body.append('image', pixelFile)
    body.append('prompt', prompt)
    body.append('model', first)
    for (const model of models) body.append('models[]', model)
    const { gateway } = vendors
    return gateway.fetch(edits, { method: 'POST', body, key: gateway.liveKey })
  }

  for (const path of [generations, edits]) {
    it(`are refused by name when they make no images: ${path}`, async () => {
      const more = path === edits ? { images: [{ image_url: pixel }] } : {}
      const response = await ask(path, { ...more, models: [second, 'gpt-5-mini'] })
      await expectError(response, { status: 400, code: 'invalid_value', param: 'models[1]' })
      expect(vendors.doubles.google.calls).to.deep.equal([])
    })
  }

  it('may be given in a form', async () => {
    vendors.doubles.google.play(down)
    const response = await askForm([second])
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(response.headers.get('x-gateway-model')).to.equal(second)
  })

  it('are limited to eight in a form too', async () => {
    const response = await askForm(Array.from({ length: 9 }, () => second))
    await expectError(response, { status: 400, code: 'invalid_value', param: 'models' })
  })

  it('make all pictures of an answer, so that one model and price apply to each', async () => {
    vendors.doubles.google.play('paint', down)
    const answer = await vendors.images({ model: first, models: [second], prompt, n: 3 })
    expect(answer.data).to.have.length(3)
    // The cost includes two pictures of the first model, which failed at the third picture.
    expect(answer.usage.cost).to.be.closeTo(3 * secondUsd + 2 * firstUsd, 1e-9)
    expect(vendors.doubles.bytedance.calls).to.have.length(3)
  })

  it('are called for a request that the first model cannot serve', async () => {
    const images = Array.from({ length: 12 }, () => ({ image_url: pixel }))
    const response = await ask(edits, { model: 'bytedance/seedream-5-0-pro', images })
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(response.headers.get('x-gateway-model')).to.equal(second)
  })

  it('report the failure of all models when none answers', async () => {
    vendors.doubles.google.play(down)
    vendors.doubles.bytedance.play({
      status: 500,
      body: { error: { code: 'InternalServiceError' } },
    })
    const response = await ask(generations, {})
    await expectError(response, { status: 502, code: 'all_providers_failed' })
  })

  it('are not called when the first model refuses the prompt as unsafe', async () => {
    vendors.doubles.google.play({ body: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } } })
    const response = await ask(generations, {})
    await expectError(response, { status: 400, code: 'content_policy_violation' })
    expect(vendors.doubles.bytedance.calls).to.deep.equal([])
  })
})
