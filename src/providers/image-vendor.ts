import type { ImageAdapter } from '../core/image/image.ts'
import type { Endpoint } from './transport/endpoint.ts'
import type { Vendor } from './vendor.ts'

type Described = Pick<Vendor, 'id' | 'name' | 'baseUrl' | 'modelsPath' | 'imageConfig'> &
  Partial<Omit<Vendor, 'dialect' | 'writeChat' | 'build'>> & {
    image: (endpoint: Endpoint) => ImageAdapter
  }

/** A vendor that only makes pictures; the given members override the defaults. */
export function imageVendor({ image, ...described }: Described): Vendor {
  const { id, name } = described
  const prefix = id.toUpperCase()
  const message = `${name} makes pictures only. Choose a language model.`
  return {
    keyVariables: [`${prefix}_API_KEY`],
    baseUrlVariable: `${prefix}_BASE_URL`,
    listsModels: false,
    onlyPictures: true,
    ...described,
    writeChat: () => ({ body: {}, problems: [{ param: 'model', message }], warnings: [] }),
    build: (endpoint) => ({ id, image: image(endpoint) }),
  }
}
