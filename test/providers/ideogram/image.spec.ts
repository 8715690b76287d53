import { ideogramKey } from '../../support/image-doubles/ideogram.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'ideogram/ideogram-4-5'

describe('Ideogram, for pictures,', () => {
  imageSuite({
    vendor: 'ideogram',
    model,
    path: '/v2/image/generate/ideogram-4-5',
    plain: { prompt, num_images: 1, async: true },
    keyHeader: { name: 'api-key', value: ideogramKey },
    seeds: true,
    picturesPerCall: 8,
    refusal: 'invalid-request',
    options: [
      {
        name: 'in a size that it makes',
        body: { size: '1024x1024' },
        wire: { size: '1024x1024' },
      },
      {
        name: 'in the class that covers a size, with a warning',
        body: { size: '1000x1400' },
        wire: { size: '1728x2304' },
        warnings: ['size'],
      },
      { name: 'in its own size for auto', body: { size: 'auto' } },
      { name: 'in its quality', body: { quality: 'low' }, wire: { quality: 'low' } },
      { name: 'in its own quality for auto', body: { quality: 'auto' } },
      { name: 'for four pictures in one call', body: { n: 4 }, wire: { num_images: 4 } },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'without user, with a warning', body: { user: 'u-1' }, warnings: ['user'] },
      { name: 'without a format, which the gateway converts', body: { output_format: 'jpeg' } },
      {
        name: 'never for a prompt that is too long',
        body: { prompt: 'x'.repeat(10_001) },
        refused: { code: 'invalid_value', param: 'prompt' },
      },
      {
        name: 'never for a quality that it has for edits only',
        body: { quality: 'very_low' },
        refused: { code: 'invalid_value', param: 'quality' },
      },
      {
        name: 'never for a transparent background',
        body: { background: 'transparent' },
        refused: { code: 'model_capability_mismatch', param: 'background' },
      },
      {
        name: 'never for a size above its maximum',
        body: { size: '4999x4999' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      {
        name: 'never for a precise edit without an input image',
        model: 'ideogram/ideogram-4-5-precise-edit',
        body: {},
        refused: { code: 'model_capability_mismatch', param: 'images' },
      },
    ],
    failures: [
      { name: 'invalid-request', kind: 'rejected' },
      { name: 'invalid-key', kind: 'credentials' },
      { name: 'insufficient-funds', kind: 'out_of_credit' },
      { name: 'daily-limit', kind: 'out_of_credit' },
      { name: 'subscription-required', kind: 'out_of_credit' },
      { name: 'no-access', kind: 'credentials' },
      { name: 'not-found', kind: 'not_found' },
      { name: 'unsafe-prompt', kind: 'content_policy' },
      { name: 'internal', kind: 'overloaded' },
      { name: 'unavailable', kind: 'overloaded' },
    ],
  })
})
