import { platformFieldsExcept, thinkingSwitch } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { failureKind, imageAdapter } from './image.ts'

/** Z.AI, provider group 3 (docs/vendors.md#zai). */
export const zai = protocolVendor({
  id: 'zai',
  name: 'Z.AI',
  baseUrl: 'https://api.z.ai/api/paas/v4',
  namePrefixes: ['z-ai', 'zhipu'],
  imageConfig: 'ImageConfigZai',
  dialect: {
    without: [
      'n',
      'seed',
      'presence_penalty',
      'frequency_penalty',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'parallel_tool_calls',
      ...platformFieldsExcept(),
    ],
    renamed: { user: 'user_id' },
    limit: 'max_tokens',
    stops: { listed: true, max: 1 },
    noJsonSchema: true,
    requiredToolChoice: 'auto',
    thinking: thinkingSwitch,
    noDeveloper: true,
    noNames: true,
    takesBack: ['reasoning_content'],
    failureKind,
    finishReasons: { sensitive: 'content_filter' },
  },
  embeddingDialect: { takes: { dimensions: true }, inputsPerCall: 64 },
  image: imageAdapter,
})
