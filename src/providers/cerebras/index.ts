import { commonFields } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Cerebras (https://inference-docs.cerebras.ai/resources/openai). */
export const cerebras = protocolVendor({
  id: 'cerebras',
  name: 'Cerebras',
  keyPrefixes: ['csk-'],
  baseUrl: 'https://api.cerebras.ai/v1',
  dialect: {
    only: new Set([
      ...commonFields,
      'clear_thinking',
      'disable_reasoning',
      'logprobs',
      'max_completion_tokens',
      'prediction',
      'reasoning_format',
      'seed',
      'stream_options',
      'top_logprobs',
      'user',
    ]),
    limit: 'max_completion_tokens',
    efforts: ['low', 'medium', 'high'],
    noDeveloper: true,
    takesBack: [],
  },
})
