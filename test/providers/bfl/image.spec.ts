import { bflKey } from '../../support/image-doubles/bfl.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const plain = { prompt }

describe('Black Forest Labs, for pictures,', () => {
  imageSuite({
    vendor: 'bfl',
    model: 'bfl/flux-2-pro',
    path: '/flux-2-pro',
    plain,
    keyHeader: { name: 'x-key', value: bflKey },
    seeds: true,
    refusal: 'illegal-parameter',
    options: [
      { name: 'in a size', body: { size: '1536x1024' }, wire: { width: 1536, height: 1024 } },
      {
        name: 'in the next multiple of its step, with a warning',
        body: { size: '1000x600' },
        wire: { width: 1008, height: 608 },
        warnings: ['size'],
      },
      {
        name: 'never for too many pixels',
        body: { size: '4096x4096' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      {
        name: 'in the ratio of a model without sizes in pixels, with a warning',
        model: 'bfl/flux-kontext-pro',
        body: { size: '1600x900' },
        wire: { aspect_ratio: '16:9' },
        warnings: ['size'],
      },
      {
        name: 'in steps of 32 by FLUX1.1',
        model: 'bfl/flux-pro-1.1',
        body: { size: '1000x1000' },
        wire: { width: 1024, height: 1024 },
        warnings: ['size'],
      },
      { name: 'in its formats', body: { output_format: 'png' }, wire: { output_format: 'png' } },
      { name: 'without a format that the gateway makes', body: { output_format: 'webp' } },
      { name: 'without quality, with a warning', body: { quality: 'high' }, warnings: ['quality'] },
      { name: 'without user, with a warning', body: { user: 'u-1' }, warnings: ['user'] },
      {
        name: 'never for an edit by generations of a model that needs a picture',
        model: 'bfl/flux-pro-1.0-fill',
        body: {},
        refused: { code: 'model_capability_mismatch', param: 'images' },
      },
      { name: 'for a model that the catalog lacks', model: 'bfl/flux-2-pro-preview', body: {} },
    ],
    failures: [
      { name: 'bad-field', kind: 'rejected' },
      { name: 'no-key', kind: 'credentials' },
      { name: 'no-credits', kind: 'out_of_credit' },
      { name: 'no-model', kind: 'not_found' },
      { name: 'server-error', kind: 'overloaded' },
      { name: 'unavailable', kind: 'overloaded' },
    ],
  })
})
