import { platformFieldsExcept, thinkingSwitch } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** DeepSeek (docs/vendors.md#openai-compatible-endpoints). */
export const deepseek = protocolVendor({
  id: 'deepseek',
  name: 'DeepSeek',
  keyPrefixes: ['sk-'],
  baseUrl: 'https://api.deepseek.com',
  namePrefixes: ['deepseek-ai'],
  dialect: {
    without: ['n', 'seed', 'logit_bias', 'parallel_tool_calls', ...platformFieldsExcept()],
    renamed: { user: 'user_id' },
    limit: 'max_tokens',
    noJsonSchema: true,
    thinking: thinkingSwitch,
    noDeveloper: true,
    takesBack: ['reasoning_content'],
    wantsReasoning: true,
    finishReasons: { insufficient_system_resource: 'length' },
  },
})
