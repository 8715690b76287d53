import { GatewayError } from '../core/error.ts'

/** One field of a form; a file is given as a data URL in base64. */
export type FormField = { name: string; value: string; file: boolean }

/** Reads a `multipart/form-data` body (RFC 7578). Throws `invalid_value`. */
export async function parseForm(bytes: Buffer, contentType: string): Promise<FormField[]> {
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
  return Promise.all(
    [...form].map(async ([name, value]): Promise<FormField> => {
      if (typeof value === 'string') return { name, value, file: false }
      const base64 = Buffer.from(await value.arrayBuffer()).toString('base64')
      // The media type that a client names is a guess; the bytes will tell.
      return { name, value: `data:application/octet-stream;base64,${base64}`, file: true }
    }),
  )
}
