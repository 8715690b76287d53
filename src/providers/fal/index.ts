import { imageVendor } from '../image-vendor.ts'
import { imageAdapter } from './image.ts'

/** fal, with any endpoint that makes pictures (docs/vendors.md#fal). */
export const fal = imageVendor({
  id: 'fal',
  name: 'fal.ai',
  anyModel: true,
  keyVariables: ['FAL_KEY', 'FAL_API_KEY'],
  keyScheme: 'Key',
  baseUrl: 'https://queue.fal.run',
  // The queue has no request that is free of charge and needs a key.
  modelsOrigin: 'https://api.fal.ai',
  modelsPath: '/v1/models/pricing?endpoint_id=fal-ai/flux/schnell',
  namePrefixes: ['fal_ai'],
  imageConfig: 'ImageConfigFal',
  image: imageAdapter,
})
