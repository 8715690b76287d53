import { GatewayError } from '../core/error.ts'
import type { FormField } from '../http/read-form.ts'

const numbers = new Set(['n', 'output_compression'])
const imageFields = new Set(['image', 'image[]'])

/** The JSON body that says the same as a form of the official OpenAI clients; it is then checked as such. */
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
    Object.defineProperty(body, name, { value: read(name, value), enumerable: true })
  }
  return body
}

/** A form has only texts; what is no number is left for the check to refuse. */
function read(name: string, value: string): unknown {
  return numbers.has(name) && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
