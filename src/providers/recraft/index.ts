import { imageVendor } from '../image-vendor.ts'
import { imageAdapter } from './image.ts'

/** Recraft (docs/vendors.md#recraft). */
export const recraft = imageVendor({
  id: 'recraft',
  name: 'Recraft',
  // The name in its documentation comes second.
  keyVariables: ['RECRAFT_API_KEY', 'RECRAFT_API_TOKEN'],
  baseUrl: 'https://external.api.recraft.ai/v1',
  // The balance, a free request.
  modelsPath: '/users/me',
  namePrefixes: ['recraft-ai'],
  imageConfig: 'ImageConfigRecraft',
  image: imageAdapter,
})
