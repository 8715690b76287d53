import { thinkingSwitch } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** DeepSeek (docs/vendors.md#openai-compatible-endpoints). */
export const deepseek = protocolVendor({
  id: 'deepseek',
  name: 'DeepSeek',
  baseUrl: 'https://api.deepseek.com',
  dialect: {
    takesBack: ['reasoning_content'],
    wantsReasoning: true,
    noDeveloper: true,
    oneChoice: true,
    noJsonSchema: true,
    without: ['seed', 'logit_bias', 'parallel_tool_calls', 'user'],
    reasoning: thinkingSwitch,
    finishReasons: { insufficient_system_resource: 'length' },
  },
})
