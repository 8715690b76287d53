import { imageVendor } from '../image-vendor.ts'
import { imageAdapter } from './image.ts'

/** Black Forest Labs (docs/vendors.md#black-forest-labs). */
export const bfl = imageVendor({
  id: 'bfl',
  name: 'Black Forest Labs',
  anyModel: true,
  baseUrl: 'https://api.bfl.ai/v1',
  keyHeader: 'x-key',
  modelsPath: '/credits',
  imageConfig: 'ImageConfigBfl',
  image: imageAdapter,
})
