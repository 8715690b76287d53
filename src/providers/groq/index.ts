import { commonFields } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Groq (docs/vendors.md#openai-compatible-endpoints). */
export const groq = protocolVendor({
  id: 'groq',
  name: 'Groq',
  keyPrefixes: ['gsk_'],
  baseUrl: 'https://api.groq.com/openai/v1',
  dialect: {
    only: new Set([
      ...commonFields,
      'citation_options',
      'compound_custom',
      'disable_tool_validation',
      'documents',
      'exclude_domains',
      'frequency_penalty',
      'include_domains',
      'include_reasoning',
      'max_completion_tokens',
      'max_tokens',
      'parallel_tool_calls',
      'presence_penalty',
      'reasoning_format',
      'search_settings',
      'seed',
      'service_tier',
      'stream_options',
      'user',
    ]),
    values: { service_tier: ['auto', 'on_demand', 'flex', 'performance'] },
    limit: 'max_completion_tokens',
    efforts: ['low', 'medium', 'high'],
    noNames: true,
    takesBack: [],
    usageMember: 'x_groq',
  },
})
