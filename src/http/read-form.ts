import { randomUUID } from 'node:crypto'
import { encodeBase64 } from '../bytes/base64.ts'
import type { Pieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import type { LeftTexts } from '../core/image/image.ts'

/** One field of a form. A file's value is a data URL with a ticket in the place of its base64. */
export type FormField = { name: string; value: string; file: boolean }

/** How the form of an operation becomes its JSON body. */
export type FormReading = {
  /** Throws `invalid_value`. */
  bodyOf: (fields: readonly FormField[]) => object
  /** The form's own name of a member of the body, where it has another. */
  names: Readonly<Record<string, string>>
}

/** Reads a `multipart/form-data` body (RFC 7578). Throws `invalid_value`. */
export async function parseForm(
  bytes: Buffer,
  contentType: string,
): Promise<{ fields: FormField[]; texts: LeftTexts }> {
  const form = await new Response(new Uint8Array(bytes), {
    headers: { 'content-type': contentType },
  })
    .formData()
    .catch((cause: unknown) => {
      throw new GatewayError(
        'invalid_value',
        'The body is not a multipart form. Send multipart/form-data with its boundary, or send JSON.',
        { cause },
      )
    })
  const texts = new Map<string, Pieces>()
  const fields = [...form].map(async ([name, value]): Promise<FormField> => {
    if (typeof value === 'string') return { name, value, file: false }
    const ticket = randomUUID()
    texts.set(ticket, encodeBase64([Buffer.from(await value.arrayBuffer())]))
    // A client's media type may be wrong; the format is read from the bytes later.
    return { name, value: `data:application/octet-stream;base64,${ticket}`, file: true }
  })
  return { fields: await Promise.all(fields), texts }
}
