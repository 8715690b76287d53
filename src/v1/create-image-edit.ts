import { GatewayError } from '../core/error.ts'
import type { Gateway } from '../core/gateway.ts'
import type { ImageInputs } from '../core/image/work.ts'
import type { Operation, OperationCall } from '../http/operation.ts'
import type { FormField, FormReading } from '../http/read-form.ts'
import { imageInputs } from './create-image.ts'
import { answerImages, type ImageParts } from './image-jobs/create-job.ts'

/** POST /v1/images/edits */
export function createImageEdit(parts: ImageParts): Operation<'createImageEdit'> {
  return async (call) => {
    const inputs = editInputs(call, parts.gateway)
    return answerImages(call, { operation: 'edit', inputs }, parts)
  }
}

/** The inputs of the core for an edit, with its picture URLs. Throws a GatewayError. */
export function editInputs(
  { body, caller, texts, names }: EditCall,
  gateway: Pick<Gateway, 'find'>,
): ImageInputs {
  const { images } = body
  // The name of the pictures in a form.
  const field = names?.['images']
  const nameAt = (index: number) => {
    if (field === undefined) return `images[${index}].image_url`
    return images.length === 1 ? field : `${field}[${index}]`
  }
  const addresses = images.map((one, index) => ({ address: one.image_url, param: nameAt(index) }))
  const inputs = imageInputs({ body, caller }, gateway)
  return { ...inputs, addresses, param: field ?? 'images', texts }
}

type EditCall = Pick<OperationCall<'createImageEdit'>, 'body' | 'caller' | 'texts' | 'names'>

const numbers = new Set(['n', 'output_compression', 'partial_images'])
/** `image` and `image[]`, `image[0]` as some clients count files, and the name of the JSON member. */
const imageField = /^images?(?:\[(\d*)\])?$/
const modelFields = new Set(['models', 'models[]'])

/** The JSON body for a form of OpenAI's clients, which is then checked. Throws `invalid_value`. */
function editFormBody(fields: readonly FormField[]): object {
  const images = fields
    .filter(({ name, file }) => file && imageField.test(name))
    // Files without an index stay in the order of the form.
    .sort((one, other) => placeOf(one) - placeOf(other))
    .map(({ value }) => ({ image_url: value }))
  const models = fields.filter(({ name }) => modelFields.has(name)).map(({ value }) => value)
  const body: Record<string, unknown> = { images, ...(models.length > 0 ? { models } : {}) }
  for (const { name, value, file } of fields) {
    if (modelFields.has(name)) continue
    if (imageField.test(name)) {
      if (file) continue
      const remedy = 'An address is sent as JSON, as images[].image_url.'
      throw invalid(name, `must be a file (${example}). ${remedy}`)
    }
    // A file for a mask gets the refusal of the mask.
    if (file && name !== 'mask') {
      const others = "but the only files of this form are pictures named 'image'"
      throw invalid(name, `is a file, ${others} (${example}).`)
    }
    if (Object.hasOwn(body, name)) throw invalid(name, 'is given twice.')
    // A form has no null, so clients send an empty value instead.
    if (value === '' && !file) continue
    Object.defineProperty(body, name, { value: read(name, value), enumerable: true })
  }
  if (images.length > 0) return body
  const text = `'image' is required: send each picture as a file named 'image' (${example}).`
  throw new GatewayError('missing_required_parameter', text, { param: 'image' })
}

const placeOf = ({ name }: FormField) => Number(imageField.exec(name)?.[1] ?? 0)
const example = 'with curl: -F image=@picture.png'

function invalid(param: string, text: string): GatewayError {
  return new GatewayError('invalid_value', `'${param}' ${text}`, { param })
}

/** The form of OpenAI's clients, whose pictures are files named `image`. */
export const editForm: FormReading = { bodyOf: editFormBody, names: { images: 'image' } }

/** Converts a form value, which is a string, to its type; invalid values fail the later check. */
function read(name: string, value: string): unknown {
  if (name === 'stream' && (value === 'true' || value === 'false')) return value === 'true'
  return numbers.has(name) && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
}
