import { platformFieldsExcept, thinkingSwitch } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { failureKind, imageAdapter } from './image.ts'

/** BytePlus ModelArk, provider group 4 (docs/vendors.md#byteplus-modelark). */
export const bytedance = protocolVendor({
  id: 'bytedance',
  name: 'BytePlus ModelArk',
  keyVariables: ['ARK_API_KEY'],
  baseUrlVariable: 'ARK_BASE_URL',
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  namePrefixes: ['byteplus', 'bytedance-seed', 'volcengine'],
  imageConfig: 'ImageConfigBytedance',
  dialect: {
    without: ['n', 'seed', ...platformFieldsExcept('service_tier')],
    values: { service_tier: ['auto', 'default'] },
    limit: 'max_tokens',
    wantsParameters: true,
    thinking: thinkingSwitch,
    noDeveloper: true,
    takesBack: [],
    failureKind,
  },
  image: imageAdapter,
})
