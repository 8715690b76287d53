import { GatewayError } from '../core/error.ts'
import type { Gateway } from '../core/gateway.ts'
import { contextOf, type Operation } from '../http/operation.ts'
import type { FormField } from '../http/read-form.ts'
import { imagesAnswer } from './image-answer.ts'
import { imageRequest } from './image-request.ts'

/** POST /v1/images/edits */
export function createImageEdit(
  gateway: Gateway,
  clock: () => number,
): Operation<'createImageEdit'> {
  return async (call) => {
    const { images, ...body } = call.body
    const addresses = images.map(({ image_url: address }, index) => ({
      address,
      param: `images[${index}].image_url`,
    }))
    const inputs = { addresses, texts: call.texts }
    const answered = await gateway.image(imageRequest(body), contextOf(call, 'images'), inputs)
    return imagesAnswer(answered, clock())
  }
}

const numbers = new Set(['n', 'output_compression', 'partial_images'])
const imageFields = new Set(['image', 'image[]'])

/** The JSON body for a form of OpenAI's clients, which is then checked. Throws `invalid_value`. */
export function editFormBody(fields: readonly FormField[]): object {
  const images = fields
    .filter(({ name, file }) => file && imageFields.has(name))
    .map(({ value }) => ({ image_url: value }))
  const body: Record<string, unknown> = images.length > 0 ? { images } : {}
  for (const { name, value, file } of fields) {
    if (imageFields.has(name)) {
      if (!file)
        throw new GatewayError('invalid_value', `'${name}' must be a file.`, { param: name })
      continue
    }
    if (Object.hasOwn(body, name)) {
      throw new GatewayError('invalid_value', `'${name}' is given twice.`, { param: name })
    }
    // A form has no null: an empty value is what its clients send instead.
    if (value === '' && !file) continue
    Object.defineProperty(body, name, { value: read(name, value), enumerable: true })
  }
  return body
}

/** Form values are strings; one that should be a number but is not is refused by the check. */
function read(name: string, value: string): unknown {
  if (name === 'stream' && value === 'false') return false
  return numbers.has(name) && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
