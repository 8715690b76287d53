import { randomUUID } from 'node:crypto'
import { decodeBase64 } from '../../bytes/base64.ts'
import type { ImageSource } from '../../core/image/image.ts'
import type { UpstreamBody } from '../transport/dispatch.ts'

/**
 * Prints fields and images as a multipart form (RFC 7578), in the order and with the names that
 * OpenAI's clients use.
 */
export function printForm(
  fields: object,
  sources: readonly ImageSource[],
): { contentType: string; body: UpstreamBody } {
  const boundary = `form-${randomUUID()}`
  const name = sources.length === 1 ? 'image' : 'image[]'
  const part = (disposition: string, value: string | Buffer) => [
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`,
    value,
    '\r\n',
  ]
  const texts = Object.entries(fields).flatMap(([field, value]) =>
    part(`name="${field}"`, String(value)),
  )
  const files = sources.flatMap(({ base64, format }, index) =>
    part(
      `name="${name}"; filename="image-${index}.${format}"\r\nContent-Type: image/${format}`,
      decodeBase64(base64),
    ),
  )
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: [...texts, ...files, `--${boundary}--\r\n`],
  }
}
