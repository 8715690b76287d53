import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Mistral (docs/vendors.md#openai-compatible-endpoints). */
export const mistral = protocolVendor({
  id: 'mistral',
  name: 'Mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  dialect: {
    takesBack: [],
    ownThoughts: ['"content":[', '"content": ['],
    efforts: () => ['none', 'high'],
    callIds: { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 },
    noDeveloper: true,
    alwaysCounts: true,
    without: ['logit_bias', 'logprobs', 'top_logprobs', 'user'],
    renamed: { seed: 'random_seed' },
    requiredToolChoice: 'any',
    finishReasons: { model_length: 'length' },
  },
})
