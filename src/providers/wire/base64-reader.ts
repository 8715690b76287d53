import { base64Length, encodeBase64 } from '../../bytes/base64.ts'
import { joinPieces, piecesLength, slicePieces } from '../../bytes/pieces.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { tooLarge } from '../transport/answer-failure.ts'
import { parseJson, type PieceReader } from '../transport/upstream.ts'

/** A JSON answer with its base64 texts replaced: `"@0"`, `"@1"`, … refer to `texts[i]`. */
export type SplicedJson = { json: unknown; texts: Buffer[][] }

const quote = 0x22
const backslash = 0x5c
/** Limit of the bytes outside the base64 texts: counts, prompts and signatures of thoughts. */
const aroundBytesMax = 16_777_216
/** Limit of base64 texts; no vendor makes as many pictures per call. */
const picturesMax = 256
/** Limit of white space between a name and its value; no encoder writes as much. */
const gapBytesMax = 1024

const dataUrl = Buffer.from('"data:image')

/**
 * Reads JSON whose members named `key`, or data URLs of pictures, contain megabytes of base64. The base64 is
 * kept as received, and only the rest is parsed (docs/performance.md#large-base64-texts). `finish` throws a
 * ProviderFailure `malformed`.
 */
export function base64Reader(key: string, textsMax = picturesMax): PieceReader<SplicedJson> {
  const { push, end } = base64Splicer(key, textsMax)
  return {
    push,
    finish: () => {
      const { around, texts } = end()
      return { json: parseJson(around), texts }
    },
  }
}

/** Cuts the base64 out as `base64Reader`; `end` returns the rest without parsing it. */
export function base64Splicer(key: string, textsMax = picturesMax) {
  const needle = Buffer.from(`"${key}"`)
  const carriedMax = Math.max(needle.length, dataUrl.length) - 1
  const around: Buffer[] = []
  let aroundBytes = 0
  const texts: Buffer[][] = []
  let carried: Buffer | undefined
  let inside = false

  const readText = (piece: Buffer): Buffer | undefined => {
    const end = piece.indexOf(quote)
    texts.at(-1)!.push(end < 0 ? piece : piece.subarray(0, end))
    if (end < 0) return undefined
    inside = false
    return piece.subarray(end)
  }

  /** The start of the next text, or the offset of bytes to keep for the next piece. */
  const findText = (piece: Buffer): { start: number } | { carryFrom: number } => {
    for (let from = 0; ;) {
      const at = piece.indexOf(needle, from)
      const urlAt = piece.subarray(from, at < 0 ? piece.length : at).indexOf(dataUrl)
      if (urlAt >= 0) return { start: from + urlAt + 1 }
      if (at < 0) return { carryFrom: Math.max(from, piece.length - carriedMax) }
      let next = at + needle.length
      while (next < piece.length && isSpaceOrColon(piece[next]!)) next++
      if (next === piece.length && next - at < gapBytesMax) return { carryFrom: at }
      if (piece[next] === quote) return { start: next + 1 }
      from = next
    }
  }

  const keep = (piece: Buffer) => {
    aroundBytes += piece.length
    if (aroundBytes > aroundBytesMax || texts.length > textsMax) throw tooLarge()
    around.push(piece)
  }
  const readAround = (piece: Buffer): Buffer | undefined => {
    const found = findText(piece)
    if ('carryFrom' in found) {
      keep(piece.subarray(0, found.carryFrom))
      carried = piece.subarray(found.carryFrom)
      return undefined
    }
    const { start } = found
    keep(piece.subarray(0, start))
    around.push(Buffer.from(`@${texts.length}`))
    texts.push([])
    inside = true
    return piece.subarray(start)
  }

  return {
    push: (piece: Buffer) => {
      let rest: Buffer | undefined = carried === undefined ? piece : Buffer.concat([carried, piece])
      carried = undefined
      while (rest !== undefined && rest.length > 0)
        rest = inside ? readText(rest) : readAround(rest)
    },
    end: () => {
      if (carried !== undefined) around.push(carried)
      if (inside) throw new ProviderFailure('malformed', 'The answer breaks off.')
      return { around: Buffer.concat(around), texts: texts.map(canonical) }
    },
  }
}

function isSpaceOrColon(byte: number): boolean {
  return byte === 0x3a || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Ensures canonical base64 without the head of a data URL: other spellings are decoded and encoded again. */
function canonical(text: Buffer[]): Buffer[] {
  if (base64Length(text) === piecesLength(text)) return text
  const whole = unescaped(text)
  const head = /^data:[^,]*,/i.exec(joinPieces(slicePieces(whole, 0, 256)).toString('latin1'))
  const plain = head === null ? whole : slicePieces(whole, head[0].length)
  if (base64Length(plain) === piecesLength(plain) || plain.every(isBase64)) return plain
  return encodeBase64([Buffer.from(joinPieces(plain).toString('latin1'), 'base64')])
}

/** Whether all characters are of base64; unused bits are not checked, since decoders ignore them. */
function isBase64(piece: Buffer): boolean {
  return /^[A-Za-z0-9+/=]*$/.test(piece.toString('latin1'))
}

/** Replaces the escape `\/` that some encoders write; base64 has no other character to escape. */
function unescaped(text: Buffer[]): Buffer[] {
  if (!text.some((piece) => piece.includes(backslash))) return text
  const whole = parseJson(Buffer.concat([Buffer.from('"'), ...text, Buffer.from('"')]))
  return [Buffer.from(String(whole))]
}
