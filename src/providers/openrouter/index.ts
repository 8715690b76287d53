import { namedReasoning } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** OpenRouter, with any model that it routes to (docs/vendors.md#openai-compatible-endpoints). */
export const openrouter = protocolVendor({
  id: 'openrouter',
  name: 'OpenRouter',
  anyModel: true,
  baseUrl: 'https://openrouter.ai/api/v1',
  dialect: { ownThoughts: namedReasoning },
})
