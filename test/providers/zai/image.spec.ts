import { zaiKey } from '../../support/image-doubles/zai.ts'
import { imageSuite, prompt } from '../image-suite.ts'

const model = 'zai/cogview-4'
const plain = { model: 'cogview-4-250304', prompt, size: '1024x1024' }

describe('Z.AI, for pictures,', () => {
  imageSuite({
    vendor: 'zai',
    model,
    path: '/images/generations',
    plain,
    keyHeader: { name: 'authorization', value: `Bearer ${zaiKey}` },
    seeds: false,
    refusal: 'illegal-parameter',
    options: [
      { name: 'in a size of its own', body: { size: '2048x1024' }, wire: { size: '2048x1024' } },
      { name: 'in a listed size', body: { size: '864x1152' }, wire: { size: '864x1152' } },
      {
        name: 'in a listed size that breaks the rule for other sizes',
        model: 'zai/glm-image',
        body: { size: '1728x960' },
        wire: { model: 'glm-image', size: '1728x960' },
      },
      {
        name: 'in the next multiple of its step, with a warning',
        body: { size: '1000x600' },
        wire: { size: '1008x608' },
        warnings: ['size'],
      },
      {
        name: 'in a larger size if the requested one is too small, with a warning',
        model: 'zai/glm-image',
        body: { size: '512x512' },
        wire: { model: 'glm-image', size: '1024x1024' },
        warnings: ['size'],
      },
      { name: 'with the quality hd', body: { quality: 'hd' }, wire: { quality: 'hd' } },
      {
        name: 'with the quality standard',
        body: { quality: 'standard' },
        wire: { quality: 'standard' },
      },
      { name: 'without quality for auto', body: { quality: 'auto' } },
      {
        name: 'never with a quality that it lacks',
        body: { quality: 'low' },
        refused: { code: 'invalid_value', param: 'quality' },
      },
      {
        name: 'never for too many pixels',
        body: { size: '2048x2048' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      { name: 'without style, with a warning', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'without user, with a warning', body: { user: 'u-1' }, warnings: ['user'] },
      { name: 'without a format, which the gateway converts', body: { output_format: 'webp' } },
    ],
    failures: [
      { name: 'unsafe', kind: 'content_policy' },
      { name: 'content-filter', kind: 'content_policy' },
      { name: 'busy-in-200', kind: 'rate_limited' },
      { name: 'concurrency', kind: 'rate_limited' },
      { name: 'no-balance', kind: 'out_of_credit' },
      { name: 'usage-limit', kind: 'out_of_credit' },
      { name: 'network-error', kind: 'overloaded' },
      { name: 'token-expired', kind: 'credentials' },
      { name: 'locked', kind: 'credentials' },
      { name: 'unknown-model', kind: 'not_found' },
      { name: 'illegal-parameter', kind: 'rejected' },
      { name: 'prompt-too-long', kind: 'context_length' },
    ],
  })
})
