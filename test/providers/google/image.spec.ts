import { expect } from 'chai'
import { expectError } from '../../support/expect-error.ts'
import { fixture } from '../../support/image-doubles/double.ts'
import { googleKey } from '../../support/image-doubles/google.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { pixel } from '../../support/pixel.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const plain = {
  contents: [{ role: 'user', parts: [{ text: prompt }] }],
  generationConfig: { responseModalities: ['IMAGE'], imageConfig: { imageSize: '1K' } },
}
const config = (imageConfig: object) => ({ generationConfig: { imageConfig } })
const model = 'gemini-3-pro-image-preview'

function answerWith(...parts: object[]) {
  const content = { role: 'model', parts }
  return { body: { candidates: [{ content, finishReason: 'STOP', index: 0 }] } }
}
const pictureOf = (data: string, more: object = {}) => ({
  inlineData: { mimeType: 'image/png', data },
  ...more,
})

describe('Google, for pictures,', () => {
  imageSuite({
    vendor: 'google',
    model,
    path: '/v1beta/models/gemini-3-pro-image:generateContent',
    plain,
    keyHeader: { name: 'x-goog-api-key', value: googleKey },
    seeds: true,
    refusal: 'invalid-argument',
    answerWith: (base64) => answerWith(pictureOf(base64)),
    options: [
      {
        name: 'with the aspect ratio and size class of a size',
        body: { size: '2048x2048' },
        wire: config({ aspectRatio: '1:1', imageSize: '2K' }),
      },
      {
        name: 'with the nearest aspect ratio and size class, with a warning',
        body: { size: '1536x1024' },
        wire: config({ aspectRatio: '3:2', imageSize: '2K' }),
        warnings: ['size'],
      },
      {
        name: 'without a size class if the model has only one',
        model: 'gemini-3.1-flash-lite-image',
        body: { size: '1376x768' },
        wire: config({ aspectRatio: '16:9', imageSize: undefined }),
      },
      { name: 'without quality, with a warning', body: { quality: 'high' }, warnings: ['quality'] },
      { name: 'without quality for auto', body: { quality: 'auto' } },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'without user, with a warning', body: { user: 'u-1' }, warnings: ['user'] },
      { name: 'without a format, which the gateway converts', body: { output_format: 'webp' } },
      {
        name: 'without compression, which the gateway applies',
        body: { output_format: 'jpeg', output_compression: 40 },
      },
      {
        name: 'without compression of a PNG, with a warning',
        body: { output_format: 'png', output_compression: 40 },
        warnings: ['output_compression'],
      },
      { name: 'unchanged for an opaque background', body: { background: 'opaque' } },
      {
        name: 'never for a transparent background',
        body: { background: 'transparent', output_format: 'png' },
        refused: { code: 'model_capability_mismatch', param: 'background' },
      },
      {
        name: 'never for a size above its maximum',
        body: { size: '16384x16384' },
        refused: { code: 'invalid_value', param: 'size' },
      },
    ],
    failures: [
      { name: 'prompt-blocked', kind: 'content_policy' },
      { name: 'image-safety', kind: 'content_policy' },
      { name: 'prohibited-content', kind: 'content_policy' },
      { name: 'image-prohibited-content', kind: 'content_policy' },
      { name: 'recitation', kind: 'malformed' },
      { name: 'other', kind: 'malformed' },
      { name: 'text-only', kind: 'no_picture' },
      { name: 'no-image', kind: 'no_picture' },
      { name: 'rate-limited', kind: 'rate_limited', retryAfter: '31' },
      { name: 'unavailable', kind: 'overloaded' },
      { name: 'internal', kind: 'overloaded' },
      { name: 'deadline', kind: 'timeout' },
      { name: 'bad-key', kind: 'credentials' },
      { name: 'permission-denied', kind: 'credentials' },
      { name: 'not-found', kind: 'not_found' },
      { name: 'invalid-argument', kind: 'rejected' },
    ],
  })

  describe('answers in parts', () => {
    let vendors: ImageVendors
    before(async () => {
      const limits = { route_tries_max: 2 }
      vendors = await startImageVendors({ vendors: ['google'], limits })
    })
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    const painted = async (number: number) =>
      (await paint({ width: 64, height: 64, format: 'png', number })).toString('base64')
    for (const name of ['text-only', 'no-image']) {
      it(`and is asked again after ${name}, as x-gateway-attempts reports`, async () => {
        vendors.doubles.google.play(fixture(`google/${name}`))
        const response = await vendors.post('/v1/images/generations', { model, prompt })
        expect(response.status).to.equal(200)
        expect(response.headers.get('x-gateway-attempts')).to.equal('google=no_picture, google=ok')
        const [first, second] = vendors.doubles.google.calls
        expect(second!.bytes.equals(first!.bytes)).to.equal(true)
      })
    }

    it('and the error quotes the model’s text after a second failure', async () => {
      const words = answerWith({ text: 'I cannot draw that map.' })
      vendors.doubles.google.play(words, words)
      const response = await vendors.post('/v1/images/generations', { model, prompt })
      const { message } = await expectError(response, { status: 502, code: 'provider_error' })
      expect(message).to.equal('The model made no picture and answered: I cannot draw that map.')
    })

    it("truncates the model's text, and redacts keys in it", async () => {
      const words = answerWith({ text: `${googleKey} `.repeat(100) })
      vendors.doubles.google.play(words, words)
      const response = await vendors.post('/v1/images/generations', { model, prompt })
      const { message } = await expectError(response, { status: 502, code: 'provider_error' })
      expect(message).to.have.length.at.most(500)
      expect(message).to.not.include(googleKey)
    })

    it('of which a chat returns the text next to the picture', async () => {
      vendors.doubles.google.play(answerWith({ text: 'A kite.' }, pictureOf(await painted(5))))
      const messages = [{ role: 'user', content: prompt }]
      const response = await vendors.post('/v1/chat/completions', { model, messages })
      const { choices } = (await response.json()) as { choices: { message: object }[] }
      expect(choices[0]!.message).to.include({ role: 'assistant', content: 'A kite.' })
    })

    it('whose tokens are added up over several calls', async () => {
      const usageMetadata = {
        promptTokenCount: 10,
        candidatesTokenCount: 1120,
        thoughtsTokenCount: 40,
        cachedContentTokenCount: 4,
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
      }
      const { body } = answerWith(pictureOf(await painted(3)))
      const answer = { body: { ...body, usageMetadata } }
      vendors.doubles.google.play(answer, answer)
      await vendors.images({ model, prompt, n: 2 })
      const row = (await vendors.gateway.usage()).at(-1)
      expect(row).to.deep.include({
        input_tokens: 20,
        cached_input_tokens: 8,
        output_tokens: 2320,
        reasoning_tokens: 80,
        image_output_tokens: 2240,
        images: 2,
      })
    })

    const eight = Array.from({ length: 8 }, () => ({ image_url: pixel }))
    const counted = {
      promptTokenCount: 4490,
      candidatesTokenCount: 1120,
      thoughtsTokenCount: 620,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 10 },
        { modality: 'IMAGE', tokenCount: 4480 },
      ],
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
    }
    const { candidatesTokensDetails: _omitted, ...unsplit } = counted
    for (const { name, of, usageMetadata, cost, status } of [
      { name: 'all tokens', of: model, usageMetadata: counted, cost: 0.15082, status: 'exact' },
      {
        name: 'all tokens of a smaller model',
        of: 'gemini-3.1-flash-lite-image',
        usageMetadata: counted,
        // The price of 4490 tokens at $0.25, 1120 at $30 and 620 at $1.50 a million.
        cost: 0.0356525,
        status: 'exact',
      },
      {
        name: 'the price per picture without token counts',
        of: model,
        usageMetadata: undefined,
        cost: 0.134,
        status: 'estimated',
      },
      {
        name: 'the price per picture without a count of image tokens',
        of: model,
        usageMetadata: unsplit,
        cost: 0.134,
        status: 'estimated',
      },
    ]) {
      it(`which cost ${name}, never more than the quote`, async () => {
        const { body } = answerWith(pictureOf(await painted(3)))
        vendors.doubles.google.play({ body: { ...body, usageMetadata } })
        const request = { model: of, prompt, images: eight }
        const quoted = await vendors.post('/v1/prices', { operation: 'createImageEdit', request })
        const { routes } = (await quoted.json()) as {
          routes: { kind: string; amount: { nano_usd: number } }[]
        }
        const { usage } = await vendors.images(request)
        expect(usage).to.include({ cost, cost_status: status })
        expect(routes[0]!.kind).to.equal('at_most')
        expect(routes[0]!.amount.nano_usd).to.be.at.least(cost * 1e9)
      })
    }

    it('of which those without counts are estimated from the others', async () => {
      const { body } = answerWith(pictureOf(await painted(3)))
      vendors.doubles.google.play({ body: { ...body, usageMetadata: counted } }, { body })
      const { usage } = await vendors.images({ model, prompt, n: 2 })
      expect(usage).to.include({ cost: 2 * 0.15082, cost_status: 'estimated' })
    })

    it('whose type is read from the bytes, whatever the media type', async () => {
      const data = (await paint({ width: 64, height: 64, format: 'jpeg', number: 1 })).toString(
        'base64',
      )
      vendors.doubles.google.play(answerWith(pictureOf(data)))
      const { output_format: format, size } = await vendors.images({ model, prompt })
      expect({ format, size }).to.deep.equal({ format: 'jpeg', size: '64x64' })
    })
  })
})
