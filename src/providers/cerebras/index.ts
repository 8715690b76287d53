import { namedReasoning } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Cerebras (https://inference-docs.cerebras.ai/resources/openai). */
export const cerebras = protocolVendor({
  id: 'cerebras',
  name: 'Cerebras',
  baseUrl: 'https://api.cerebras.ai/v1',
  dialect: {
    takesBack: [],
    ownThoughts: namedReasoning,
    noDeveloper: true,
    oneChoice: true,
    efforts: () => ['low', 'medium', 'high'],
    without: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'parallel_tool_calls'],
  },
})
