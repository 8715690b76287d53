import { imageAdapter } from '../openai-compatible/image.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { efforts, toolReasoning } from './reasoning.ts'

/** OpenAI itself (docs/vendors.md#openai). */
export const openai = protocolVendor({
  id: 'openai',
  name: 'OpenAI',
  baseUrl: 'https://api.openai.com/v1',
  dialect: {
    takesBack: ['refusal'],
    callIds: { pattern: /^.{1,40}$/s, length: 40 },
    efforts,
    toolReasoning,
    samplingWithoutReasoning: /^gpt-5\.\d/,
  },
  image: (endpoint) => imageAdapter({ ...endpoint, edits: 'json' }),
})
