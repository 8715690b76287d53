import { GatewayError } from '../../core/error.ts'

/** The fields of a form that has been sent; each is given once. */
export type FormBody = ReadonlyMap<string, string>

/** Reads the body of a form, which the router has bounded (`oauth_request_bytes_max`). Throws `invalid_value`. */
export function readFormBody(body: Buffer): FormBody {
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
