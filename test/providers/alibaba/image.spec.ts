import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import { alibabaKey } from '../../support/image-doubles/alibaba.ts'
import { numberIn, paint } from '../../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { pixel } from '../../support/pixel.ts'
import { startPublicHost, type PublicHost } from '../../support/public-host.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'alibaba/qwen-image-plus'
const plain = {
  model: 'qwen-image-plus',
  input: { messages: [{ role: 'user', content: [{ text: prompt }] }] },
  parameters: { n: 1, watermark: false, size: '1664*928' },
}
const sized = (size: string) => ({ parameters: { size } })
const longPrompt = 'ä'.repeat(801)

describe('Alibaba, for pictures,', () => {
  imageSuite({
    vendor: 'alibaba',
    model,
    path: '/api/v1/services/aigc/multimodal-generation/generation',
    plain,
    keyHeader: { name: 'authorization', value: `Bearer ${alibabaKey}` },
    seeds: true,
    refusal: 'invalid-parameter',
    options: [
      {
        name: 'in one of its five sizes, with an asterisk between the sides',
        body: { size: '1328x1328' },
        wire: sized('1328*1328'),
      },
      {
        name: 'in the nearest of its sizes, with a warning',
        body: { size: '1024x1536' },
        wire: sized('1104*1472'),
        warnings: ['size'],
      },
      {
        name: 'in its default size for auto',
        body: { size: 'auto' },
      },
      {
        name: 'in any size if the model accepts all',
        model: 'alibaba/qwen-image-2.0',
        body: { size: '1000x700' },
        wire: { model: 'qwen-image-2.0', ...sized('1000*700') },
      },
      {
        name: 'in a larger size if the requested one is too small, with a warning',
        model: 'alibaba/qwen-image-2.0',
        body: { size: '256x256' },
        wire: { model: 'qwen-image-2.0', ...sized('512*512') },
        warnings: ['size'],
      },
      {
        name: 'for six pictures in one call if the model supports it',
        model: 'alibaba/qwen-image-2.0',
        body: { n: 6, size: '512x512' },
        wire: { model: 'qwen-image-2.0', parameters: { n: 6, size: '512*512' } },
      },
      {
        name: 'with a prompt that it truncates, with a warning',
        body: { prompt: longPrompt },
        wire: { input: { messages: [{ role: 'user', content: [{ text: longPrompt }] }] } },
        warnings: ['prompt'],
      },
      { name: 'without quality, with a warning', body: { quality: 'hd' }, warnings: ['quality'] },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'without user, with a warning', body: { user: 'u-1' }, warnings: ['user'] },
      { name: 'without a format, which the gateway converts', body: { output_format: 'jpeg' } },
      {
        name: 'never for a transparent background',
        body: { background: 'transparent' },
        refused: { code: 'model_capability_mismatch', param: 'background' },
      },
      {
        name: 'never for a size above its maximum',
        body: { size: '4096x4096' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      {
        name: 'never for an edit without an input image',
        model: 'alibaba/qwen-image-edit-plus',
        body: {},
        refused: { code: 'model_capability_mismatch', param: 'images' },
      },
    ],
    failures: [
      { name: 'inspection-failed', kind: 'content_policy' },
      { name: 'infringement', kind: 'content_policy' },
      { name: 'inspection-failed-in-200', kind: 'content_policy' },
      { name: 'throttled-in-200', kind: 'rate_limited' },
      { name: 'internal-in-200', kind: 'overloaded' },
      { name: 'arrearage', kind: 'out_of_credit' },
      { name: 'free-tier-only', kind: 'out_of_credit' },
      { name: 'throttled', kind: 'rate_limited' },
      { name: 'allocation-quota', kind: 'out_of_credit' },
      { name: 'internal', kind: 'overloaded' },
      { name: 'unavailable', kind: 'overloaded' },
      { name: 'access-denied', kind: 'credentials' },
      // The successor of the deprecated model is asked too.
      { name: 'model-not-found', kind: 'not_found', attempts: 2 },
      { name: 'invalid-parameter', kind: 'rejected' },
      { name: 'no-picture', kind: 'malformed' },
    ],
  })

  describe('answers with URLs', () => {
    let vendors: ImageVendors
    before(async () => {
      const limits = { upstream_idle_timeout_ms: 300 }
      const bounds = { upstreamAnswerBytesMax: 200_000 }
      vendors = await startImageVendors({ vendors: ['alibaba'], limits, bounds })
    })
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    it('which are fetched with their signature and without the API key', async () => {
      await vendors.images({ model, prompt })
      const { fetches } = vendors.doubles.alibaba
      expect(fetches).to.have.length(1)
      const [{ method, path, headers }] = fetches as [(typeof fetches)[0]]
      expect(`${method} ${path}`).to.match(/^GET \/pictures\/.*\?Expires=\d+&Signature=a%2Fb$/)
      expect(JSON.stringify(headers)).to.not.include(alibabaKey)
      expect(headers).to.not.have.any.keys('authorization', 'cookie')
    })

    it('which are fetched again after a 503', async () => {
      vendors.doubles.alibaba.playFetches({ status: 503 }, 'paint')
      const { data } = await vendors.images({ model, prompt })
      expect(data).to.have.length(1)
      expect(vendors.doubles.alibaba.calls).to.have.length(1)
      expect(vendors.doubles.alibaba.fetches).to.have.length(2)
    })

    const traps = [
      { name: 'that have expired', script: { status: 403, body: '<Error>AccessDenied</Error>' } },
      { name: 'that are not found', script: { status: 404 } },
      { name: 'that redirect', script: { status: 302, headers: { location: '/x' } } },
      { name: 'that break off', script: { body: 'x', reset: 'after' as const } },
      { name: 'that never complete', script: { pieces: ['x'], hang: true } },
      { name: 'that never end', script: { pieces: endless() } },
    ]
    for (const { name, script } of traps) {
      it(`${name}, and that is the provider's failure`, async () => {
        vendors.doubles.alibaba.playFetches(script)
        const response = await vendors.post('/v1/images/generations', { model, prompt })
        expect(response.status).to.be.oneOf([502, 504])
        const { error } = (await response.json()) as { error: { code: string } }
        expect(error.code).to.be.oneOf(['provider_error', 'timeout'])
      })
    }

    const nowhere = [
      'http://127.0.0.1:9/x.png',
      'https://10.0.0.1/x.png',
      'file:///etc/passwd',
      'x',
    ]
    for (const address of nowhere) {
      it(`which are refused if they are private: ${address}`, async () => {
        const content = [{ image: address }]
        const message = { role: 'assistant', content }
        vendors.doubles.alibaba.play({ body: { output: { choices: [{ message }] } } })
        const response = await vendors.post('/v1/images/generations', { model, prompt })
        await expectError(response, { status: 502, code: 'provider_error' })
      })
    }
  })

  describe('answers with URLs of another host', () => {
    let vendors: ImageVendors
    let host: PublicHost
    before(async () => {
      host = await startPublicHost()
      vendors = await startImageVendors({ vendors: ['alibaba'], publicNet: host.net })
    })
    after(async () => {
      await vendors.stop()
      await host.stop()
    })

    it('which are fetched with the guarded fetch, without the API key', async () => {
      const bytes = await paint({ width: 64, height: 48, format: 'png', number: 5 })
      host.serve('/1.png?Signature=a%2Fb', bytes)
      const address = host.address('/1.png?Signature=a%2Fb')
      const content = [{ image: address }]
      const message = { role: 'assistant', content }
      vendors.doubles.alibaba.play({ body: { output: { choices: [{ message }] } } })
      const { data } = await vendors.images({ model, prompt })
      expect(Buffer.from(data[0]!.b64_json, 'base64').equals(bytes)).to.equal(true)
      expect(host.requests).to.have.length(1)
      expect(JSON.stringify(host.requests)).to.not.include(alibabaKey)
    })
  })

  describe('edits', () => {
    let vendors: ImageVendors
    before(async () => (vendors = await startImageVendors({ vendors: ['alibaba'] })))
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    const models = [
      { id: 'qwen-image-edit', parameters: { n: 1, watermark: false } },
      { id: 'qwen-image-edit-plus', parameters: { n: 2, watermark: false } },
      { id: 'qwen-image-2.0', parameters: { n: 2, watermark: false } },
    ]
    for (const { id, parameters } of models) {
      it(`with ${id}, with pictures before the text`, async () => {
        const images = [{ image_url: pixel }, { image_url: pixel }]
        const body = { model: `alibaba/${id}`, images, prompt, n: parameters.n }
        const { data } = await vendors.images(body)
        const numbers = data.map(({ b64_json: base64 }) => numberIn(Buffer.from(base64, 'base64')))
        expect(new Set(await Promise.all(numbers))).to.have.property('size', parameters.n)
        expect(vendors.doubles.alibaba.calls[0]!.body).to.deep.equal({
          model: id,
          input: {
            messages: [
              { role: 'user', content: [{ image: pixel }, { image: pixel }, { text: prompt }] },
            ],
          },
          parameters,
        })
      })
    }

    it('and makes ten pictures in calls of at most six, with different seeds', async () => {
      const messages = [{ role: 'user', content: prompt }]
      const config = { seed: 2_147_483_645, image_size: '512x512' }
      const body = { model: 'alibaba/qwen-image-2.0', messages, n: 10, image_config: config }
      const response = await vendors.post('/v1/chat/completions', body)
      expect(response.status, await response.text()).to.equal(200)
      const asked = vendors.doubles.alibaba.calls.map((call) => call.body)
      expect(asked.map((one) => (one as { parameters: object }).parameters)).to.have.deep.members([
        { n: 6, watermark: false, size: '512*512', seed: 2_147_483_645 },
        { n: 4, watermark: false, size: '512*512', seed: 3 },
      ])
    })

    it('with a model that only generates are refused with the remedy', async () => {
      const images = [{ image_url: pixel }]
      const response = await vendors.post('/v1/images/edits', { model, images, prompt })
      const expected = { status: 400, code: 'model_capability_mismatch', param: 'images' }
      const { message } = await expectError(response, expected)
      expect(message).to.include('Choose a model that edits images.')
      expect(vendors.doubles.alibaba.calls).to.deep.equal([])
    })
  })
})

function* endless(): Iterable<Buffer> {
  for (;;) yield Buffer.alloc(16_384)
}
