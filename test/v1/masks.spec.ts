import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { lookAtUrl, type ChatImagesBody } from '../support/pictures.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

const model = 'bfl/flux-pro-1.0-fill'
const text = { type: 'text', text: 'A red kite' }
const chat = '/v1/chat/completions'
const bytesOf = (number: number, width = 96, height = 64) =>
  paint({ width, height, format: 'png', number })
const urlOf = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`
const [dunes, sky] = [await bytesOf(1), await bytesOf(2)]
const old = await bytesOf(3, 48, 48)
const heic = Buffer.from('\0\0\0\u0018ftypheic\0\0\0\0heicmif1').toString('base64')

describe('a mask in a chat', () => {
  let vendors: ImageVendors
  let double: ImageDouble
  let host: PublicHost
  before(async () => {
    host = await startPublicHost()
    vendors = await startImageVendors({ vendors: ['bfl', 'xai'], publicNet: host.net })
    double = vendors.doubles.bfl
  })
  beforeEach(() => vendors.reset())
  after(async () => {
    await vendors.stop()
    await host.stop()
  })

  const part = (bytes: Buffer) => ({ type: 'image_url', image_url: { url: urlOf(bytes) } })
  const ask = (config: object, body: object = {}, pictures: Buffer[] = [dunes]) =>
    vendors.post(chat, {
      model,
      messages: [{ role: 'user', content: [text, ...pictures.map(part)] }],
      image_config: config,
      ...body,
    })
  const wire = () => double.calls[0]!.body as Record<string, unknown>

  it('is sent with the picture that it is for', async () => {
    const response = await ask({ mask: urlOf(sky), safety_tolerance: 6, steps: 30 })
    const answer = await response.text()
    expect(response.status, answer).to.equal(200)
    const { choices, usage, warnings } = JSON.parse(answer) as ChatImagesBody
    expect(warnings).to.equal(undefined)
    expect(usage).to.include({ cost: 0.05, cost_status: 'reported' })
    const { width, height } = await lookAtUrl(choices[0]!.message.images[0]!.image_url.url)
    expect([width, height]).to.deep.equal([96, 64])
    expect(double.calls[0]!.path).to.equal('/flux-pro-1.0-fill')
    expect(wire()).to.deep.equal({
      prompt: 'A red kite',
      image: dunes.toString('base64'),
      mask: sky.toString('base64'),
      safety_tolerance: 6,
      steps: 30,
    })
  })

  it('of megabytes is not parsed, and reaches the vendor whole', async () => {
    const [large, mask] = [await bytesOf(4, 2000, 1500), await bytesOf(5, 2000, 1500)]
    const response = await ask({ mask: urlOf(mask) }, {}, [large])
    expect(response.status, await response.text()).to.equal(200)
    expect(wire()['mask']).to.equal(mask.toString('base64'))
  })

  it('is fetched from an address', async () => {
    host.serve('/sky.png', sky)
    const response = await ask({ mask: host.address('/sky.png') })
    expect(response.status, await response.text()).to.equal(200)
    expect(wire()['mask']).to.equal(sky.toString('base64'))
  })

  it('belongs to the newest picture, when older ones are left out', async () => {
    const response = await ask(
      { mask: urlOf(sky) },
      {
        messages: [
          { role: 'user', content: [text, part(old)] },
          { role: 'assistant', content: 'Done.' },
          { role: 'user', content: [text, part(dunes)] },
        ],
      },
    )
    expect(response.status, await response.text()).to.equal(200)
    expect(wire()['image']).to.equal(dunes.toString('base64'))
  })

  it('makes another answer than another mask', async () => {
    const post = async (mask: Buffer) => {
      const body = {
        model,
        messages: [{ role: 'user', content: [text, part(dunes)] }],
        image_config: { mask: urlOf(mask) },
      }
      const response = await vendors.gateway.post(chat, body, { key: vendors.gateway.liveKey })
      expect(response.status).to.equal(200)
      await response.arrayBuffer()
      return response.headers.get('x-gateway-cache')
    }
    const outcomes = [await post(sky), await post(await bytesOf(7)), await post(sky)]
    expect(outcomes).to.deep.equal(['miss', 'miss', 'hit'])
    expect(double.calls).to.have.length(2)
  })

  const param = 'image_config.mask'
  const refusals: [string, object, object, object, RegExp?][] = [
    ['another size', { mask: urlOf(old) }, {}, { code: 'invalid_value', param }, /48x48.*96x64/],
    ['no picture', { mask: 'data:image/png;base64,aGVsbG8=' }, {}, { param }],
    ['a HEIC', { mask: `data:image/heic;base64,${heic}` }, {}, { code: 'invalid_value', param }],
    ['no address', { mask: 'a fox' }, {}, { param }],
    ['an address in the house', { mask: 'https://127.0.0.1/sky.png' }, {}, { param }],
    ['an object', { mask: { image_url: urlOf(sky) } }, {}, { code: 'invalid_value', param }],
    [
      'a model that takes none',
      { mask: urlOf(sky) },
      { model: 'bfl/flux-2-pro' },
      { code: 'model_capability_mismatch', param },
      /in its parameters/,
    ],
    [
      'a fallback that takes none',
      { mask: urlOf(sky) },
      { models: ['xai/grok-imagine-image-2.0'], model: 'bfl/flux-2-max' },
      { code: 'model_capability_mismatch', param },
    ],
    [
      'a vendor that has none',
      { mask: urlOf(sky) },
      { model: 'xai/grok-imagine-image-2.0' },
      { code: 'unknown_parameter', param },
    ],
  ]
  for (const [name, config, body, expected, words = /./] of refusals) {
    it(`is refused with ${name}, before the vendor is asked`, async () => {
      const response = await ask(config, body)
      const { error } = (await response.json()) as { error: { param: string; message: string } }
      expect(response.status).to.equal(400)
      expect(error).to.include(expected)
      expect(error.message).to.match(words)
      expect(double.calls).to.deep.equal([])
      expect(vendors.doubles.xai.calls).to.deep.equal([])
    })
  }

  it('is not needed for a transparent picture, but the picture is', async () => {
    expect((await ask({})).status).to.equal(200)
    expect(wire()).to.not.have.property('mask')
    const response = await ask({ mask: urlOf(sky) }, {}, [])
    await expectError(response, {
      status: 400,
      code: 'model_capability_mismatch',
      param: 'messages',
    })
  })

  it('is accepted with a test key too', async () => {
    const body = {
      model,
      messages: [{ role: 'user', content: [text, part(dunes)] }],
      image_config: { mask: urlOf(sky) },
    }
    const response = await vendors.gateway.post(chat, body)
    expect(response.status, await response.text()).to.equal(200)
    expect(double.calls).to.deep.equal([])
  })
})
