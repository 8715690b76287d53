import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Cerebras (https://inference-docs.cerebras.ai/resources/openai). */
export const cerebras = protocolVendor({
  id: 'cerebras',
  name: 'Cerebras',
  keyPrefixes: ['csk-'],
  baseUrl: 'https://api.cerebras.ai/v1',
  dialect: {
    only: new Set([
      'clear_thinking',
      'disable_reasoning',
      'logprobs',
      'max_completion_tokens',
      'messages',
      'model',
      'prediction',
      'reasoning_effort',
      'reasoning_format',
      'response_format',
      'seed',
      'stop',
      'stream',
      'stream_options',
      'temperature',
      'tool_choice',
      'tools',
      'top_logprobs',
      'top_p',
      'user',
    ]),
    limit: 'max_completion_tokens',
    efforts: ['low', 'medium', 'high'],
    noDeveloper: true,
    takesBack: [],
  },
})
