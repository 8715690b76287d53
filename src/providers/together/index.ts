import { platformFieldsBut } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'

/** Together, with any model that it hosts (docs/vendors.md#openai-compatible-endpoints). */
export const together = protocolVendor({
  id: 'together',
  name: 'Together',
  anyModel: true,
  baseUrl: 'https://api.together.xyz/v1',
  dialect: {
    without: ['parallel_tool_calls', 'user', ...platformFieldsBut()],
    limit: 'max_tokens',
    stops: { listed: true },
    countedLogprobs: true,
    wantsSchema: true,
    noDeveloper: true,
    takesBack: [],
  },
})
