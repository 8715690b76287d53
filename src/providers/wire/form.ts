import { randomUUID } from 'node:crypto'
import { decodeBase64, decodedLength } from '../../bytes/base64.ts'
import type { ImageSource } from '../../core/image/image.ts'
import type { UpstreamBody } from '../transport/dispatch.ts'

/** The bytes of pictures in a form, which are copies of their base64. */
export function formBytes(sources: readonly ImageSource[]): number {
  return sources.reduce((sum, { base64 }) => sum + decodedLength(base64), 0)
}

/** Prints a multipart form (RFC 7578): texts first, then each picture in the field that `fieldOf` names. */
export function printForm(
  fields: object,
  sources: readonly ImageSource[],
  fieldOf: (index: number) => string,
): { contentType: string; body: UpstreamBody } {
  const boundary = `form-${randomUUID()}`
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
      `name="${fieldOf(index)}"; filename="image-${index}.${format}"\r\nContent-Type: image/${format}`,
      decodeBase64(base64),
    ),
  )
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: [...texts, ...files, `--${boundary}--\r\n`],
  }
}
