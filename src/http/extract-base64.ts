import { randomUUID } from 'node:crypto'
import { base64Length } from '../bytes/base64.ts'
import type { Hold } from '../bytes/budget.ts'
import {
  indexInPieces,
  joinPieces,
  piecesLength,
  slicePieces,
  type Pieces,
} from '../bytes/pieces.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { memoryError } from '../core/error.ts'

/** A JSON body with tickets (random UUIDs) in the places of the texts that were cut out of it. */
type LightBody = { pieces: Pieces; texts: LeftTexts }

/** Shorter texts cost less to parse (docs/performance.md#large-base64-texts). */
const textBytesMin = 16_384
/** More than a request may have pictures; bounds the search in a body full of false matches. */
const looksMax = 100

const beginning = Buffer.from('"data:image/')
const quote = 0x22
const nameBefore = /"(?:image_)?url"[ \t\r\n]*:[ \t\r\n]*$/
const head = /^"data:image\/[a-z]+;base64,/

/**
 * Cuts the base64 of large pictures out of a JSON body, so that megabytes are neither parsed nor
 * turned into a string, and puts a ticket in the place of each. Tickets are random, so that a body
 * cannot contain one already. Data URLs in an unusual notation and invalid base64 stay in the body,
 * which is then parsed and checked as usual.
 */
export function extractBase64(body: Pieces): LightBody {
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

/** Where the base64 of a data URL starts; Infinity if it is not the value of `(image_)url`. */
function textStart(body: Pieces, at: number): number {
  // Inside a string the quote would be escaped: after a backslash, not after a member's name.
  const before = joinPieces(slicePieces(body, Math.max(0, at - 64), at)).toString('latin1')
  if (!nameBefore.test(before)) return Infinity
  const url = joinPieces(slicePieces(body, at, at + 64)).toString('latin1')
  return at + (head.exec(url)?.[0].length ?? Infinity)
}

function byteAt(body: Pieces, at: number): number | undefined {
  return slicePieces(body, at, at + 1)[0]?.[0]
}

/**
 * The value with each ticket in a data URL replaced by its text again. Throws a GatewayError when there
 * is no room for the texts as strings, in the value and in what a provider is sent.
 */
export function restoreBase64<T>(value: T, texts: LeftTexts, hold: Hold): T {
  if (texts.size === 0) return value
  const put = (inner: unknown): unknown => {
    if (typeof inner === 'string') return textOf(inner, texts, hold)
    if (Array.isArray(inner)) return inner.map(put)
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, put(one)]))
  }
  // Only strings change, and each stays a string.
  return put(value) as T
}

function textOf(url: string, texts: LeftTexts, hold: Hold): string {
  const start = url.indexOf(',') + 1
  const text = texts.get(url.slice(start))
  if (text === undefined) return url
  const refusal = hold.takeMore(3 * piecesLength(text))
  if (refusal !== undefined) throw memoryError(refusal)
  return url.slice(0, start) + joinPieces(text).toString('latin1')
}
