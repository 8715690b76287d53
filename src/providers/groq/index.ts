import { namedReasoning } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Groq (docs/vendors.md#openai-compatible-endpoints). */
export const groq = protocolVendor({
  id: 'groq',
  name: 'Groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  dialect: {
    takesBack: [],
    ownThoughts: namedReasoning,
    efforts: () => ['low', 'medium', 'high'],
    oneChoice: true,
    usageMember: 'x_groq',
    without: ['logit_bias', 'logprobs', 'top_logprobs'],
  },
})
