import { expect } from 'chai'
import OpenAI from 'openai'
import { expectError } from '../support/expect-error.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'

const path = '/v1/images/generations'
const chat = '/v1/chat/completions'
const model = 'own/painter'

describe('pictures that may take more memory than the gateway has', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({
      limits: { buffered_bytes_max: 1_048_576 },
      bounds: { pictureBytesMax: 1 },
    })
    const bytes = await paint({ width: 400, height: 400, format: 'png', number: 1 })
    const b64_json = bytes.toString('base64')
    own.upstream.answer({ body: { created: 1, data: [{ b64_json }] } })
  })
  after(() => own.stop())

  const post = (body: object) =>
    own.gateway.post(path, { model, ...body }, { key: own.gateway.liveKey })
  const picture = { size: '400x400', n: 4, output_format: 'webp' }
  const faces = {
    'the images API': (turn: number) => post({ prompt: `a ${turn}`, ...picture }),
    'a chat': (turn: number) => {
      const messages = [{ role: 'user', content: `b ${turn}` }]
      const config = { image_size: picture.size, n: picture.n, output_format: 'png' }
      return own.gateway.post(chat, { model: 'gpt-image-2', messages, image_config: config })
    },
  }
  for (const [face, ask] of Object.entries(faces)) {
    it(`are made and converted one request after the other: ${face}`, async () => {
      const answers = await Promise.all([1, 2, 3, 4].map(ask))
      for (const answer of answers) expect(answer.status, await answer.text()).to.equal(200)
      const metrics = await (await own.gateway.fetch('/metrics')).text()
      expect(metrics).to.match(/^gateway_buffered_bytes 0$/m)
    })
  }

  const refusedPictures = [
    { asked: { size: '1200x1200', output_format: 'webp' }, param: 'output_format', says: /memory/ },
    { asked: { size: '20000x1000', output_format: 'webp' }, param: 'size', says: /16383 pixels/ },
  ]
  for (const { asked, param, says } of refusedPictures) {
    it(`are refused before a vendor is asked: ${asked.size} as ${asked.output_format}`, async () => {
      const before = own.upstream.requests.length
      const response = await post({ prompt: 'a', ...asked })
      const { error } = (await response.clone().json()) as { error: { message: string } }
      expect(error.message).to.match(says)
      await expectError(response, { status: 400, code: 'invalid_value', param })
      expect(own.upstream.requests).to.have.length(before)
    })
  }
})

describe('a picture that is paid and cannot be delivered', () => {
  let vendors: ImageVendors
  before(async () => {
    vendors = await startImageVendors({ limits: { route_tries_max: 2 } })
  })
  after(() => vendors.stop())

  it('is not bought again by the official client, and costs what the vendor made', async () => {
    const { openai } = vendors.doubles
    const whole = await paint({ width: 1024, height: 1024, format: 'png', number: 1 })
    const b64_json = whole.subarray(0, 600).toString('base64')
    const usage = { input_tokens: 1000, output_tokens: 10, total_tokens: 1010 }
    openai.play({ status: 200, body: { created: 1, data: [{ b64_json }], usage } })
    const { url, liveKey: apiKey } = vendors.gateway
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey })
    const asked = { model: 'gpt-image-1.5', prompt: 'a', size: '800x800' as '1024x1024' }
    const error = await client.images.generate(asked).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(OpenAI.APIError)
    const { status, headers } = error as InstanceType<typeof OpenAI.APIError>
    expect({ status, retry: headers?.get('x-should-retry') }).to.deep.equal({
      status: 502,
      retry: 'false',
    })
    expect(openai.calls).to.have.length(1)
    const [row] = (await vendors.gateway.usage()).slice(-1)
    expect(row).to.include({ outcome: 'failed' })
    expect(Number(row!['cost_nano_usd'])).to.be.above(0)
  })
})
