import { GatewayError } from '../../core/error.ts'

const bytesMax = 8192

/** The fields of a form that has been sent; each is given once. */
export type FormBody = ReadonlyMap<string, string>

/** Reads the body of a form. Throws `request_too_large`, `invalid_value`. */
export function readFormBody(body: Buffer): FormBody {
  if (body.length > bytesMax) {
    const text = `The form has more than ${bytesMax} bytes. Go back, and fill it in again.`
    throw new GatewayError('request_too_large', text)
  }
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(body.toString('utf8'))) {
    if (fields.has(name)) {
      const param = name.slice(0, 50)
      throw new GatewayError('invalid_value', `The field '${param}' is given twice.`, { param })
    }
    fields.set(name, value)
  }
  return fields
}
