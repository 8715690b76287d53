import { imageVendor } from '../image-vendor.ts'
import { imageAdapter } from './image.ts'

/** Ideogram (docs/vendors.md#ideogram). */
export const ideogram = imageVendor({
  id: 'ideogram',
  name: 'Ideogram',
  baseUrl: 'https://api.ideogram.ai',
  keyHeader: 'api-key',
  // The list of the account's data sets: the API has no list of models.
  modelsPath: '/datasets',
  imageConfig: 'ImageConfigIdeogram',
  image: imageAdapter,
})
