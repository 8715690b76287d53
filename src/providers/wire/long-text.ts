import { randomUUID } from 'node:crypto'
import type { ImageSource } from '../../core/image/image.ts'
import type { UpstreamBody } from '../transport/dispatch.ts'

/** Marks the place of a long text; random, so that no body contains the same text. */
const gap = randomUUID()
/** The long texts of the body that is being printed. */
let printed: LongText[] = []

/** A long string of a JSON body, kept in pieces; the string must need no JSON escaping. */
export class LongText {
  readonly pieces: readonly (string | Buffer)[]

  constructor(pieces: readonly (string | Buffer)[]) {
    this.pieces = pieces
  }

  /** Called by JSON.stringify. */
  toJSON(): string {
    printed.push(this)
    return gap
  }
}

/** The base64 text of a picture. */
export function pictureText({ base64 }: ImageSource): LongText {
  return new LongText(base64)
}

/** A picture as a data URL with its true media type. */
export function pictureUrl({ base64, format }: ImageSource): LongText {
  return new LongText([`data:image/${format};base64,`, ...base64])
}

/** Prints a JSON body; long texts are inserted in pieces, without a copy. */
export function printJson(body: unknown): UpstreamBody {
  printed = []
  const text = JSON.stringify(body)
  if (printed.length === 0) return text
  const texts = printed
  printed = []
  const [start = '', ...rest] = text.split(gap)
  return [start, ...rest.flatMap((part, index) => [...texts[index]!.pieces, part])]
}
