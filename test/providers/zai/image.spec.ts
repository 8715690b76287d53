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
      { name: 'for a size of its own', body: { size: '2048x1024' }, wire: { size: '2048x1024' } },
      { name: 'for a listed size', body: { size: '864x1152' }, wire: { size: '864x1152' } },
      {
        name: 'for a listed size beyond the rule for others',
        model: 'zai/glm-image',
        body: { size: '1728x960' },
        wire: { model: 'glm-image', size: '1728x960' },
      },
      {
        name: 'for the next multiple of what it counts in, which is told',
        body: { size: '1000x600' },
        wire: { size: '1008x608' },
        warnings: ['size'],
      },
      {
        name: 'for a larger size where the asked one is too small, which is told',
        model: 'zai/glm-image',
        body: { size: '512x512' },
        wire: { model: 'glm-image', size: '1024x1024' },
        warnings: ['size'],
      },
      { name: 'for the quality hd', body: { quality: 'hd' }, wire: { quality: 'hd' } },
      {
        name: 'for the quality standard',
        body: { quality: 'standard' },
        wire: { quality: 'standard' },
      },
      { name: 'for the quality auto, which is its own', body: { quality: 'auto' } },
      {
        name: 'for nothing when the quality is none of its own',
        body: { quality: 'low' },
        refused: { code: 'invalid_value', param: 'quality' },
      },
      {
        name: 'for nothing when there are too many pixels',
        body: { size: '2048x2048' },
        refused: { code: 'invalid_value', param: 'size' },
      },
      { name: 'for no style, which is told', body: { style: 'natural' }, warnings: ['style'] },
      { name: 'for no user, which is told', body: { user: 'u-1' }, warnings: ['user'] },
      { name: 'for no format, which is converted here', body: { output_format: 'webp' } },
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
