import { randomUUID } from 'node:crypto'
import { encodeBase64 } from '../bytes/base64.ts'
import type { Pieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import type { LeftTexts } from '../core/image/image.ts'

/** One field of a form; a file is given as a data URL, with a ticket in the place of its base64. */
export type FormField = { name: string; value: string; file: boolean }

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
        'The body is not a multipart form. Send it as OpenAI clients do, or send JSON.',
        { cause },
      )
    })
  const texts = new Map<string, Pieces>()
  const fields = [...form].map(async ([name, value]): Promise<FormField> => {
    if (typeof value === 'string') return { name, value, file: false }
    const ticket = randomUUID()
    texts.set(ticket, encodeBase64([Buffer.from(await value.arrayBuffer())]))
    // The media type that a client names is a guess; the bytes will tell.
    return { name, value: `data:application/octet-stream;base64,${ticket}`, file: true }
  })
  return { fields: await Promise.all(fields), texts }
}
