import { protocolVendor } from '../openai-compatible/vendor.ts'
import { imageAdapter } from './image.ts'

/** Alibaba Cloud Model Studio, provider group 2 (docs/vendors.md#alibaba-model-studio). */
export const alibaba = protocolVendor({
  id: 'alibaba',
  name: 'Alibaba Cloud Model Studio',
  keyVariables: ['DASHSCOPE_API_KEY'],
  baseUrlVariable: 'DASHSCOPE_BASE_URL',
  modelsPath: '/compatible-mode/v1/models',
  baseUrl: 'https://dashscope-intl.aliyuncs.com',
  imageConfig: 'ImageConfigAlibaba',
  dialect: {
    takesCacheControl: true,
    takesBack: ['reasoning_content'],
    noDeveloper: true,
    without: ['frequency_penalty', 'logit_bias', 'user'],
    reasoning: (enabled) => ({ enable_thinking: enabled }),
  },
  chatPath: '/compatible-mode/v1',
  image: imageAdapter,
})
