import { expect } from 'chai'
import { bytedanceKey } from '../../support/image-doubles/bytedance.ts'
import { startImageVendors, type ImageVendors } from '../../support/image-vendors.ts'
import { pixel } from '../../support/pixel.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'bytedance/seedream-4-0'
const plain = {
  model: 'seedream-4-0-250828',
  prompt,
  size: '2048x2048',
  response_format: 'b64_json',
  watermark: false,
}
const upstreamNames: Record<string, string> = {
  pro: 'seedream-5-0-pro-260628',
  flash: 'seedream-5-0-flash-260915',
}
const other = { model: 'seedream-4-5-251128' }

describe('ByteDance, for pictures,', () => {
  imageSuite({
    vendor: 'bytedance',
    model,
    path: '/images/generations',
    plain,
    keyHeader: { name: 'authorization', value: `Bearer ${bytedanceKey}` },
    seeds: false,
    refusal: 'oversized-image',
    answerWith: (base64) => ({ body: { created: 1, data: [{ b64_json: base64 }] } }),
    options: [
      { name: 'in a small size', body: { size: '1024x1024' }, wire: { size: '1024x1024' } },
      { name: 'in any other size', body: { size: '1600x900' }, wire: { size: '1600x900' } },
      {
        name: 'with the minimum of pixels of a later model, with a warning',
        model: 'bytedance/seedream-4-5',
        body: { size: '1024x1024' },
        wire: { ...other, size: '1920x1920' },
        warnings: ['size'],
      },
      {
        name: 'in the format if the model has a choice',
        model: 'bytedance/seedream-5-0-lite',
        body: { output_format: 'png' },
        wire: { model: 'seedream-5-0-lite-260128', output_format: 'png' },
      },
      ...['pro', 'flash'].flatMap((name) => [
        {
          name: `in the widest size of 2K, of Seedream 5.0 ${name}`,
          model: `bytedance/seedream-5-0-${name}`,
          body: { size: '2816x1584' },
          wire: { model: upstreamNames[name], size: '2816x1584' },
        },
        {
          name: `never with a pixel more than Seedream 5.0 ${name} makes`,
          model: `bytedance/seedream-5-0-${name}`,
          body: { size: '2151x2151' },
          refused: { code: 'invalid_value', param: 'size' },
        },
      ]),
      {
        name: 'without a format if the model has no choice',
        body: { size: '1024x1024', output_format: 'webp' },
        wire: { size: '1024x1024' },
      },
      {
        name: 'never for too many pixels',
        body: { size: '8192x8192' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      { name: 'without quality, with a warning', body: { quality: 'high' }, warnings: ['quality'] },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'without user, with a warning', body: { user: 'u-1' }, warnings: ['user'] },
      {
        name: 'never for a transparent background',
        body: { background: 'transparent' },
        refused: { code: 'model_capability_mismatch', param: 'background' },
      },
    ],
    failures: [
      { name: 'output-sensitive', kind: 'content_policy' },
      { name: 'input-text-sensitive', kind: 'content_policy' },
      { name: 'input-image-privacy', kind: 'content_policy' },
      { name: 'risk', kind: 'content_policy' },
      { name: 'item-sensitive-in-200', kind: 'content_policy' },
      { name: 'item-internal-in-200', kind: 'overloaded' },
      { name: 'error-in-200', kind: 'rate_limited' },
      { name: 'burst', kind: 'rate_limited' },
      { name: 'rate-limited', kind: 'rate_limited' },
      { name: 'quota-exceeded', kind: 'out_of_credit' },
      { name: 'overdue', kind: 'out_of_credit' },
      { name: 'server-overloaded', kind: 'overloaded' },
      { name: 'internal', kind: 'overloaded' },
      { name: 'authentication', kind: 'credentials' },
      { name: 'not-open', kind: 'not_found' },
      { name: 'oversized-image', kind: 'rejected' },
    ],
  })

  describe('merges pictures', () => {
    let vendors: ImageVendors
    before(async () => (vendors = await startImageVendors({ vendors: ['bytedance'] })))
    beforeEach(() => vendors.reset())
    after(() => vendors.stop())

    for (const count of [1, 2, 3, 10, 14]) {
      it(`${count} at once, a single one as a string and several as a list`, async () => {
        const images = Array.from({ length: count }, () => ({ image_url: pixel }))
        await vendors.images({ model, images, prompt, size: '1024x1024' })
        const all = images.map(() => pixel)
        expect(vendors.doubles.bytedance.calls[0]!.body).to.deep.equal({
          ...plain,
          size: '1024x1024',
          image: count === 1 ? pixel : all,
        })
      })
    }
  })
})
