import { thinkingSwitch } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { imageAdapter } from './image.ts'

/** Z.AI, provider group 3 (docs/vendors.md#zai). */
export const zai = protocolVendor({
  id: 'zai',
  name: 'Z.AI',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  imageConfig: 'ImageConfigZai',
  dialect: {
    takesBack: ['reasoning_content'],
    noDeveloper: true,
    oneChoice: true,
    noJsonSchema: true,
    without: [
      'seed',
      'presence_penalty',
      'frequency_penalty',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'parallel_tool_calls',
    ],
    renamed: { user: 'user_id' },
    requiredToolChoice: 'auto',
    reasoning: thinkingSwitch,
    finishReasons: { sensitive: 'content_filter' },
  },
  image: imageAdapter,
})
