import { randomUUID } from 'node:crypto'
import type { ImageSource } from '../../core/image/image.ts'
import type { UpstreamBody } from '../transport/dispatch.ts'

const pieces = Symbol('pieces')

/** A long string of a JSON body, kept in pieces; the string must need no JSON escaping. */
export type LongText = { readonly [pieces]: readonly (string | Buffer)[] }

/** The base64 text of a picture. */
export function pictureText({ base64 }: ImageSource): LongText {
  return { [pieces]: base64 }
}

/** A picture as a data URL with its true media type. */
export function pictureUrl({ base64, format }: ImageSource): LongText {
  return { [pieces]: [`data:image/${format};base64,`, ...base64] }
}

/** Prints a JSON body; long texts are inserted in pieces, without a copy. */
export function printJson(body: unknown): UpstreamBody {
  // A random placeholder, so that the body does not contain the same text.
  const gap = randomUUID()
  const texts: LongText[] = []
  const printed = JSON.stringify(body, (_name, value: unknown) => {
    if (!isLongText(value)) return value
    texts.push(value)
    return gap
  })
  const [start = '', ...rest] = printed.split(gap)
  if (texts.length === 0) return start
  return [start, ...rest.flatMap((part, index) => [...texts[index]![pieces], part])]
}

function isLongText(value: unknown): value is LongText {
  return typeof value === 'object' && value !== null && pieces in value
}
