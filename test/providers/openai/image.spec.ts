import { expect } from 'chai'
import sharp from 'sharp'
import { openaiKey } from '../../support/image-doubles/openai.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { pixel } from '../../support/pixel.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'gpt-image-2'
const plain = { model, prompt }

describe('OpenAI, for pictures,', () => {
  imageSuite({
    vendor: 'openai',
    model,
    path: '/images/generations',
    plain,
    keyHeader: { name: 'authorization', value: `Bearer ${openaiKey}` },
    seeds: false,
    picturesPerCall: 10,
    refusal: 'unsupported-value',
    answerWith: (base64) => ({ body: { created: 1, data: [{ b64_json: base64 }] } }),
    options: [
      { name: 'for three pictures in one call', body: { n: 3 }, wire: { n: 3 } },
      { name: 'in a size of its own', body: { size: '1008x672' }, wire: { size: '1008x672' } },
      {
        name: 'in the next multiple of its step, with a warning',
        body: { size: '1000x1000' },
        wire: { size: '1008x1008' },
        warnings: ['size'],
      },
      {
        name: 'in one of the model’s three sizes',
        model: 'gpt-image-1.5',
        body: { size: '1536x1024' },
        wire: { model: 'gpt-image-1.5', size: '1536x1024' },
      },
      { name: 'with a quality', body: { quality: 'high' }, wire: { quality: 'high' } },
      { name: 'with the quality auto', body: { quality: 'auto' }, wire: { quality: 'auto' } },
      {
        name: 'never with a quality of a newer model',
        body: { quality: 'max' },
        refused: { code: 'invalid_value', param: 'quality' },
      },
      {
        name: 'with a moderation level',
        body: { moderation: 'low' },
        wire: { moderation: 'low' },
      },
      ...['sunburst', 'flare'].map((name) => ({
        name: `with the effort of planning of GPT Image 2.6 ${name}`,
        model: `gpt-image-2.6-${name}`,
        body: { complexity: 'high' },
        wire: { model: `gpt-image-2.6-${name}`, complexity: 'high' },
      })),
      {
        name: 'without it for an older model',
        body: { complexity: 'low' },
        warnings: ['complexity'],
      },
      {
        name: 'with the identifier of an end user',
        body: { safety_identifier: 'u-1', user: null },
        wire: { safety_identifier: 'u-1' },
      },
      { name: 'without an empty identifier', body: { safety_identifier: '' } },
      {
        name: 'without the defaults of a request without a stream',
        body: { stream: false, partial_images: 0 },
      },
      {
        name: 'with a transparent background',
        body: { background: 'transparent', output_format: 'webp' },
        wire: { background: 'transparent', output_format: 'webp' },
      },
      {
        name: 'never for a transparent JPEG',
        body: { background: 'transparent', output_format: 'jpeg' },
        refused: { code: 'invalid_value', param: 'background' },
      },
      {
        name: 'with the compression of the format',
        body: { output_format: 'jpeg', output_compression: 30 },
        wire: { output_format: 'jpeg', output_compression: 30 },
      },
      {
        name: 'without compression of a PNG, with a warning',
        body: { output_compression: 30 },
        warnings: ['output_compression'],
      },
      { name: 'with the end user', body: { user: 'u-1' }, wire: { user: 'u-1' } },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
    ],
    failures: [
      { name: 'moderation-blocked', kind: 'content_policy' },
      { name: 'content-policy', kind: 'content_policy' },
      { name: 'insufficient-quota', kind: 'out_of_credit' },
      { name: 'rate-limited', kind: 'rate_limited', retryAfter: '21' },
      { name: 'server-error', kind: 'overloaded' },
      { name: 'overloaded', kind: 'overloaded' },
      { name: 'invalid-key', kind: 'credentials' },
      { name: 'unverified', kind: 'credentials' },
      { name: 'model-not-found', kind: 'not_found' },
      { name: 'unsupported-value', kind: 'rejected' },
      { name: 'too-large', kind: 'too_large' },
      { name: 'error-in-200', kind: 'overloaded' },
      { name: 'no-data', kind: 'malformed' },
    ],
  })

  describe('returns details of its pictures', () => {
    let vendors: ImageVendors
    before(async () => (vendors = await startImageVendors({ vendors: ['openai'] })))
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    it('which the answer passes on: quality, background and revised prompts', async () => {
      const { data } = await vendors.images({ model, prompt, n: 2 })
      const items = data.map(({ b64_json: base64 }, index) => ({
        b64_json: base64,
        revised_prompt: `${prompt} ${index}`,
      }))
      const body = { created: 1, data: items, quality: 'low', background: 'transparent' }
      vendors.doubles.openai.play({ body })
      const answer = await vendors.images({ model, prompt, n: 2, quality: 'auto' })
      expect(answer).to.include({ quality: 'low', background: 'transparent' })
      expect(answer.data).to.deep.equal(items)
    })

    it('and compresses them, so that the gateway does not', async () => {
      const options = { model, prompt, output_format: 'jpeg', output_compression: 30 }
      const made = sharp({
        create: {
          width: 320,
          height: 200,
          channels: 3,
          background: '#888',
          noise: { type: 'gaussian', mean: 128, sigma: 30 },
        },
      })
      const base64 = (await made.jpeg({ quality: 30 }).toBuffer()).toString('base64')
      vendors.doubles.openai.play({ body: { created: 1, data: [{ b64_json: base64 }] } })
      const { data } = await vendors.images(options)
      expect(data[0]!.b64_json).to.equal(base64)
    })

    it('and a picture of another size is fitted and compressed again', async () => {
      const answer = await vendors.images({
        model,
        prompt,
        size: '500x500',
        output_format: 'jpeg',
        output_compression: 30,
      })
      expect(answer).to.include({ size: '500x500', output_format: 'jpeg' })
      const { width, height } = await sharp(
        Buffer.from(answer.data[0]!.b64_json, 'base64'),
      ).metadata()
      expect({ width, height }).to.deep.equal({ width: 500, height: 500 })
    })

    it('and a picture of an unrequested size is fitted, with a warning', async () => {
      const { data } = await vendors.images({ model, prompt, size: '1536x1024' })
      vendors.doubles.openai.play({ body: { created: 1, data } })
      const answer = await vendors.images({ model, prompt, size: '1024x1024' })
      expect(answer.size).to.equal('1024x1024')
      expect(answer.warnings).to.have.length(1)
      expect(answer.warnings![0]).to.include({ param: 'size', applied: '1536x1024' })
    })

    const fidelities = [
      { id: 'gpt-image-1.5', fidelity: 'high', wire: { input_fidelity: 'high' }, warnings: [] },
      { id: 'gpt-image-1-mini', fidelity: 'low', wire: { input_fidelity: 'low' }, warnings: [] },
      { id: 'gpt-image-1-mini', fidelity: 'high', wire: {}, warnings: ['input_fidelity'] },
      { id: 'gpt-image-2', fidelity: 'low', wire: {}, warnings: ['input_fidelity'] },
    ]
    for (const { id, fidelity, wire, warnings } of fidelities) {
      it(`and edits: the fidelity ${fidelity} with ${id}`, async () => {
        const images = [{ image_url: pixel }]
        const body = { model: id, images, prompt, input_fidelity: fidelity }
        const answer = await vendors.images(body)
        const [call] = vendors.doubles.openai.calls
        expect(call).to.include({ method: 'POST', path: '/images/edits' })
        expect(call!.body).to.deep.equal({ model: id, prompt, images, ...wire })
        expect((answer.warnings ?? []).map(({ param }) => param)).to.deep.equal(warnings)
      })
    }
  })
})
