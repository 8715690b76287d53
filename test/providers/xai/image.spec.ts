import { expect } from 'chai'
import type { components } from '../../../generated/types.ts'
import { setBudgetOfKey } from '../../support/budgets.ts'
import { expectError } from '../../support/expect-error.ts'
import { fixture } from '../../support/image-doubles/double.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { xaiKey } from '../../support/image-doubles/xai.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { look } from '../../support/pictures.ts'
import { pixel } from '../../support/pixel.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'xai/grok-imagine-image-2.0'
const plain = {
  model: 'grok-imagine-image-2.0',
  prompt,
  resolution: '1k',
  response_format: 'b64_json',
}

describe('xAI, for pictures,', () => {
  imageSuite({
    vendor: 'xai',
    model,
    path: '/images/generations',
    plain,
    keyHeader: { name: 'authorization', value: `Bearer ${xaiKey}` },
    seeds: false,
    picturesPerCall: 10,
    refusal: 'unsupported-argument',
    answerWith: (base64) => ({ body: { data: [{ b64_json: base64 }] } }),
    options: [
      { name: 'for three pictures in one call', body: { n: 3 }, wire: { n: 3 } },
      {
        name: 'with the nearest aspect ratio and size class instead of pixels, with a warning',
        body: { size: '1536x1024' },
        wire: { aspect_ratio: '3:2', resolution: '2k' },
        warnings: ['size'],
      },
      {
        name: 'with the smaller size class if it is large enough',
        body: { size: '1024x1024' },
        wire: { aspect_ratio: '1:1' },
        warnings: ['size'],
      },
      { name: 'with a quality', body: { quality: 'low' }, wire: { quality: 'low' } },
      { name: 'without quality for auto', body: { quality: 'auto' } },
      {
        name: 'never with a quality that it lacks',
        body: { quality: 'high' },
        refused: { code: 'invalid_value', param: 'quality' },
      },
      { name: 'without background, since all are opaque', body: { background: 'opaque' } },
      {
        name: 'never for a transparent background',
        body: { background: 'transparent' },
        refused: { code: 'model_capability_mismatch', param: 'background' },
      },
      { name: 'without a format, since it makes JPEGs', body: { output_format: 'png' } },
      { name: 'without the default moderation', body: { moderation: 'auto' } },
      {
        name: 'without another moderation, with a warning',
        body: { moderation: 'low' },
        warnings: ['moderation'],
      },
      { name: 'with the end user', body: { user: 'u-1' }, wire: { user: 'u-1' } },
    ],
    failures: [
      { name: 'moderated', kind: 'content_policy' },
      { name: 'rate-limited', kind: 'rate_limited', retryAfter: '9' },
      { name: 'unsupported-argument', kind: 'rejected' },
    ],
  })

  describe('in edits and with placeholders', () => {
    let vendors: ImageVendors
    before(async () => (vendors = await startImageVendors({ vendors: ['xai'] })))
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    const image = (url: string) => ({ type: 'image_url', url })

    it('is sent one picture as `image`, as JSON', async () => {
      await vendors.images({ model, prompt, images: [{ image_url: pixel }] })
      const [call] = vendors.doubles.xai.calls
      expect(call!.path).to.equal('/images/edits')
      expect(call!.body).to.deep.equal({ ...plain, image: image(pixel) })
    })

    it('is sent several as `images`, at most three', async () => {
      const images = Array.from({ length: 3 }, () => ({ image_url: pixel }))
      await vendors.images({ model, prompt, images })
      expect(vendors.doubles.xai.calls[0]!.body).to.deep.equal({
        ...plain,
        images: Array.from({ length: 3 }, () => image(pixel)),
      })
      const four = [...images, ...images.slice(0, 1)]
      const response = await vendors.post('/v1/images/edits', { model, prompt, images: four })
      await expectError(response, {
        status: 400,
        code: 'model_capability_mismatch',
        param: 'images',
      })
    })

    const edited = Array.from({ length: 2 }, () => ({ image_url: pixel }))
    const charges: [request: object, cents: number][] = [
      [{}, 6],
      [{ n: 2 }, 12],
      [{ quality: 'auto' }, 6],
      [{ quality: 'low' }, 4],
      [{ quality: 'medium' }, 6],
      [{ quality: 'low', size: '2048x2048', n: 3 }, 18],
      [{ quality: 'medium', size: '2048x1024' }, 8],
      [{ size: '2048x2048', n: 10 }, 80],
      [{ images: edited }, 8],
      [{ images: edited, quality: 'low', size: '1536x1024' }, 8],
    ]
    for (const [asked, cents] of charges) {
      it(`is quoted at no less than its charge of ${cents} cents: ${JSON.stringify(asked).slice(0, 60)}`, async () => {
        const request = { model, prompt, ...asked }
        const operation = 'images' in asked ? 'createImageEdit' : 'createImage'
        const priced = await vendors.post('/v1/prices', { operation, request })
        const { routes } = (await priced.json()) as components['schemas']['PriceQuote']
        const { usage } = await vendors.images(request)
        expect(usage).to.include({ cost: cents / 100, cost_status: 'reported' })
        expect(routes[0]).to.include({ kind: 'at_most' })
        expect(routes[0]!.amount!.nano_usd).to.equal(cents * 10_000_000)
      })
    }

    it('is refused under a budget that its charge would exceed', async () => {
      const { gateway, doubles } = vendors
      const key = await gateway.createKey('live')
      await setBudgetOfKey(gateway, key, { nanoUsd: 50_000_000, period: 'total' })
      const paintFor = (body: object) =>
        vendors.post('/v1/images/generations', { model, prompt, ...body }, { key })
      for (const body of [{ n: 2 }, {}, { quality: 'low', size: '2048x2048' }]) {
        expect((await paintFor(body)).status, JSON.stringify(body)).to.equal(402)
      }
      expect(doubles.xai.calls).to.deep.equal([])
      expect((await paintFor({ quality: 'low' })).status).to.equal(200)
    })

    for (const [ratio, size] of [
      ['21:9', '1680x720'],
      ['5:2', '1600x640'],
    ] as const) {
      it(`makes pictures of ${ratio}`, async () => {
        const made = await vendors.images({ model, prompt, size })
        expect(made.size).to.equal(size)
        expect(vendors.doubles.xai.calls[0]!.body).to.include({ aspect_ratio: ratio })
        const messages = [{ role: 'user', content: prompt }]
        const body = { model, messages, image_config: { aspect_ratio: ratio } }
        expect((await vendors.post('/v1/chat/completions', body)).status).to.equal(200)
        expect(vendors.doubles.xai.calls[1]!.body).to.include({ aspect_ratio: ratio })
      })
    }

    it('fails as unsafe when one of several pictures is a placeholder, and charges the other', async () => {
      const base64 = (await paint({ width: 64, height: 64, format: 'jpeg', number: 1 })).toString(
        'base64',
      )
      const real = { b64_json: base64, respect_moderation: true }
      const { data } = fixture('xai/moderated').body as { data: object[] }
      vendors.doubles.xai.play({ body: { data: [real, ...data] } })
      const response = await vendors.post('/v1/images/generations', { model, prompt, n: 2 })
      await expectError(response, { status: 400, code: 'content_policy_violation' })
      const rows = await vendors.gateway.usage()
      expect(rows.at(-1)).to.include({ outcome: 'failed', cost_nano_usd: 60_000_000, images: 1 })
    })

    it('gets the requested size by fitting its picture', async () => {
      const { data, size, warnings } = await vendors.images({ model, prompt, size: '800x450' })
      expect(size).to.equal('800x450')
      expect(await look(data[0]!.b64_json)).to.include({ width: 800, height: 450 })
      expect(warnings).to.deep.equal([
        {
          param: 'size',
          requested: '800x450',
          applied: '16:9 at 1K',
          reason: `${model} takes a size class instead of pixels; the picture is made in 16:9 at 1K and fitted to 800x450.`,
        },
      ])
    })

    it('accepts size class and aspect ratio in a chat, and lists its own for an unknown value', async () => {
      const messages = [{ role: 'user', content: prompt }]
      const ask = (image_config: object) =>
        vendors.post('/v1/chat/completions', { model, messages, image_config })
      const made = await ask({ aspect_ratio: '9:19.5', image_size: '2K', quality: 'low' })
      expect(made.status, await made.clone().text()).to.equal(200)
      expect(vendors.doubles.xai.calls[0]!.body).to.include({
        aspect_ratio: '9:19.5',
        resolution: '2k',
        quality: 'low',
      })
      for (const [config, param, works] of [
        [{ aspect_ratio: '7:3' }, 'image_config.aspect_ratio', '19.5:9'],
        [{ image_size: '4K' }, 'image_config.image_size', '1K, 2K'],
        [{ quality: 'max' }, 'image_config.quality', 'low, medium'],
      ] as const) {
        const { message } = await expectError(await ask(config), {
          status: 400,
          code: 'invalid_value',
          param,
        })
        expect(message).to.include(works)
      }
    })
  })
})
