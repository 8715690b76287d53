import { platformFieldsExcept } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { failureKind, imageAdapter } from './image.ts'

/** Alibaba Cloud Model Studio (docs/vendors.md#alibaba-model-studio). */
export const alibaba = protocolVendor({
  id: 'alibaba',
  name: 'Alibaba Cloud Model Studio',
  keyPrefixes: ['sk-'],
  keyVariables: ['DASHSCOPE_API_KEY'],
  baseUrlVariable: 'DASHSCOPE_BASE_URL',
  modelsPath: '/compatible-mode/v1/models',
  baseUrl: 'https://dashscope-intl.aliyuncs.com',
  namePrefixes: ['qwen', 'dashscope'],
  imageConfig: 'ImageConfigAlibaba',
  dialect: {
    without: ['frequency_penalty', 'logit_bias', 'user', ...platformFieldsExcept()],
    limit: 'max_tokens',
    thinking: (enabled) => ({ enable_thinking: enabled }),
    noDeveloper: true,
    noNames: true,
    takesCacheControl: true,
    takesBack: ['reasoning_content'],
    failureKind,
  },
  chatPath: '/compatible-mode/v1',
  embeddingDialect: { takes: { dimensions: true }, inputsPerCall: 10 },
  image: imageAdapter,
})
