import { protocolVendor } from '../openai-compatible/vendor.ts'

/** xAI (docs/vendors.md#openai-compatible-endpoints). */
export const xai = protocolVendor({
  id: 'xai',
  name: 'xAI',
  baseUrl: 'https://api.x.ai/v1',
  dialect: {
    takesBack: [],
    without: ['logit_bias'],
    withoutWhenReasoning: ['presence_penalty', 'frequency_penalty', 'stop'],
  },
})
