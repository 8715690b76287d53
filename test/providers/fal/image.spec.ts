import { falKey } from '../../support/image-doubles/fal.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'fal/fal-ai/flux/schnell'
const banana = 'fal/fal-ai/nano-banana-2'
const ofBanana = { image_size: undefined }

describe('fal, for pictures,', () => {
  imageSuite({
    vendor: 'fal',
    model,
    path: '/fal-ai/flux/schnell',
    plain: { prompt, num_images: 1 },
    keyHeader: { name: 'authorization', value: `Key ${falKey}` },
    seeds: true,
    picturesPerCall: 4,
    refusal: 'illegal-size',
    options: [
      {
        name: 'in a size of its own',
        body: { size: '1024x768' },
        wire: { image_size: { width: 1024, height: 768 } },
      },
      {
        name: 'in the next multiple of its step, with a warning',
        body: { size: '1000x600' },
        wire: { image_size: { width: 1024, height: 608 } },
        warnings: ['size'],
      },
      { name: 'with a format', body: { output_format: 'png' }, wire: { output_format: 'png' } },
      {
        name: 'without a format that the gateway converts to',
        body: { output_format: 'webp' },
      },
      {
        name: 'never for too many pixels',
        body: { size: '4096x4096' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'without quality, with a warning', body: { quality: 'hd' }, warnings: ['quality'] },
      {
        name: 'without the number of pictures, where an endpoint makes one',
        model: 'fal/fal-ai/flux-2-pro',
        body: { size: '1024x1024' },
        wire: { num_images: undefined, image_size: { width: 1024, height: 1024 } },
      },
      {
        name: 'for a vector, where an endpoint makes nothing else',
        model: 'fal/fal-ai/recraft/v4/text-to-vector',
        body: { output_format: 'svg' },
        wire: { num_images: undefined },
      },
      {
        name: 'for a ratio and a class, where an endpoint takes no pixels, with a warning',
        model: banana,
        body: { size: '2048x2048' },
        wire: { ...ofBanana, aspect_ratio: '1:1', resolution: '2K' },
        warnings: ['size'],
      },
      {
        name: 'for a ratio alone, where an endpoint has one class, with a warning',
        model: 'fal/fal-ai/flux-pro/kontext',
        body: { size: '1024x768' },
        wire: { ...ofBanana, aspect_ratio: '4:3' },
        warnings: ['size'],
      },
      {
        name: 'in a size within the bounds of pixels of the endpoint, with a warning',
        model: 'fal/fal-ai/bytedance/seedream/v4.5',
        body: { size: '1024x1024' },
        wire: { image_size: { width: 1920, height: 1920 } },
        warnings: ['size'],
      },
    ],
    failures: [
      { name: 'no-key', kind: 'credentials' },
      { name: 'forbidden', kind: 'credentials' },
      { name: 'locked', kind: 'out_of_credit' },
      { name: 'payment', kind: 'out_of_credit' },
      { name: 'rate-limit', kind: 'rate_limited', retryAfter: '7' },
      { name: 'unknown-app', kind: 'not_found' },
      { name: 'illegal-size', kind: 'rejected' },
      { name: 'unsafe', kind: 'content_policy' },
      { name: 'server-error', kind: 'overloaded' },
      { name: 'no-runner', kind: 'overloaded' },
      { name: 'downstream', kind: 'overloaded' },
    ],
  })
})
