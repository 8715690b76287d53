import { randomUUID } from 'node:crypto'
import { base64Length } from '../bytes/base64.ts'
import {
  indexInPieces,
  joinPieces,
  piecesLength,
  slicePieces,
  type Pieces,
} from '../bytes/pieces.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'

/** A body with tickets in the places of the texts that were left out of it. */
export type LightBody = { pieces: Pieces; texts: LeftTexts }

/** Parsing costs less than leaving out what is shorter. */
const textBytesMin = 16_384
/** No request has more pictures; whoever sends more of them must not keep the gateway busy. */
const looksMax = 100

const beginning = Buffer.from('"data:image/')
const quote = 0x22
const nameBefore = /"(?:image_)?url"[ \t\r\n]*:[ \t\r\n]*$/
const head = /^"data:image\/[a-z]+;base64,/

/**
 * Leaves the base64 of large pictures out of a JSON body, so that megabytes are neither parsed nor
 * turned into a string: a ticket takes the place of each. Nobody can know a ticket who wrote the body
 * before. What is written otherwise than clients write it, or is not valid, stays as it is: the body
 * is then read as well, and what is wrong with it is found where it always is.
 */
export function leaveTexts(body: Pieces): LightBody {
  if (piecesLength(body) < textBytesMin) return { pieces: body, texts: noTexts }
  const texts = new Map<string, Pieces>()
  let pieces: Buffer[] = []
  let copied = 0
  let at = indexInPieces(body, beginning, 0)
  for (let looks = 0; at >= 0 && looks < looksMax; looks++) {
    const start = textStart(body, at)
    const length = base64Length(slicePieces(body, start))
    if (length >= textBytesMin && byteAt(body, start + length) === quote) {
      const ticket = randomUUID()
      texts.set(ticket, slicePieces(body, start, start + length))
      pieces = [...pieces, ...slicePieces(body, copied, start), Buffer.from(ticket)]
      copied = start + length
    }
    at = indexInPieces(body, beginning, Math.max(at + 1, copied))
  }
  return { pieces: [...pieces, ...slicePieces(body, copied)], texts }
}

/** Where the base64 of a data URL starts; nowhere when it is not the value of a member for pictures. */
function textStart(body: Pieces, at: number): number {
  // A quote that is escaped has a backslash before it, and never the name of a member.
  const before = joinPieces(slicePieces(body, Math.max(0, at - 64), at)).toString('latin1')
  if (!nameBefore.test(before)) return Infinity
  const url = joinPieces(slicePieces(body, at, at + 64)).toString('latin1')
  return at + (head.exec(url)?.[0].length ?? Infinity)
}

function byteAt(body: Pieces, at: number): number | undefined {
  return slicePieces(body, at, at + 1)[0]?.[0]
}

/** The same value with every text that was left out of it back in its place. */
export function withTexts<T>(value: T, texts: LeftTexts): T {
  if (texts.size === 0) return value
  const put = (inner: unknown): unknown => {
    if (typeof inner === 'string') return textOf(inner, texts)
    if (Array.isArray(inner)) return inner.map(put)
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, put(one)]))
  }
  // Only texts change, and each for a text.
  return put(value) as T
}

function textOf(url: string, texts: LeftTexts): string {
  const start = url.indexOf(',') + 1
  const text = texts.get(url.slice(start))
  return text === undefined ? url : url.slice(0, start) + joinPieces(text).toString('latin1')
}
