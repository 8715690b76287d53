import { unescape } from 'node:querystring'
import { joinPieces, piecesLength, slicePieces, type Pieces } from './pieces.ts'

/** Block size of encoding: allocating strings and buffers of megabytes costs more than encoding. */
const blockBytes = 12_288
const blockCharacters = (blockBytes / 3) * 4
/** Size of text buffers: the allocator would request each larger buffer from the operating system. */
const textBytes = 65_536

/** Encodes bytes as base64 (RFC 4648, section 4) while they arrive. */
export function createBase64Encoder() {
  const full: Buffer[] = []
  let text = nothing
  let written = 0
  let carried: Buffer = nothing

  /** Encodes whole groups of three bytes; only the last call may end with an incomplete group. */
  const write = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length;) {
      if (written === text.length) {
        if (written > 0) full.push(text)
        text = Buffer.allocUnsafeSlow(textBytes)
        written = 0
      }
      const end = at + ((text.length - written) / 4) * 3
      written += text.write(bytes.toString('base64', at, end), written, 'latin1')
      at = end
    }
  }

  return {
    push: (piece: Buffer): void => {
      // Three bytes make four characters; an incomplete group waits for the next piece.
      const missing = carried.length === 0 ? 0 : 3 - carried.length
      const group = missing === 0 ? carried : Buffer.concat([carried, piece.subarray(0, missing)])
      const rest = piece.subarray(missing)
      const whole = rest.length - (rest.length % 3)
      if (group.length === 3) write(group)
      write(rest.subarray(0, whole))
      carried = group.length % 3 === 0 ? Buffer.from(rest.subarray(whole)) : group
    },
    /** The base64 of all pushed bytes. */
    finish: (): Buffer[] => {
      write(carried)
      return [...full, text.subarray(0, written)]
    },
  }
}

/** The length of the base64 of a piece, in bytes. */
export function encodedBytes({ length }: Buffer): number {
  return Math.ceil(length / 3) * 4
}

/** Encodes complete bytes. */
export function encodeBase64(pieces: Pieces): Buffer[] {
  const encoder = createBase64Encoder()
  for (const piece of pieces) encoder.push(piece)
  return encoder.finish()
}

const nothing = Buffer.alloc(0)

/** Decodes canonical base64 text, at most its first `charactersMax` characters, without a copy of the text. */
export function decodeBase64(text: Pieces, charactersMax = Infinity): Buffer {
  const pieces = slicePieces(text, 0, charactersMax)
  const bytes = Buffer.allocUnsafe(Math.ceil(piecesLength(pieces) / 4) * 3)
  let written = 0
  let carried = ''
  for (const piece of pieces) {
    const letters = carried + piece.toString('latin1')
    const whole = letters.length - (letters.length % 4)
    written += bytes.write(letters.slice(0, whole), written, 'base64')
    carried = letters.slice(whole)
  }
  written += bytes.write(carried, written, 'base64')
  return bytes.subarray(0, written)
}

/** The number of bytes that canonical base64 text (as in `base64Length`) decodes to. */
export function decodedLength(text: Pieces): number {
  const length = piecesLength(text)
  const end = joinPieces(slicePieces(text, length - 2)).toString('latin1')
  const padding = end === '==' ? 2 : end.endsWith('=') ? 1 : 0
  return (length / 4) * 3 - padding
}

/**
 * The length of the base64 text at the start of the pieces, in characters; 0 unless the text is
 * canonical: padded, without line breaks, in the standard alphabet (RFC 4648, section 4). Equal
 * bytes then have equal text.
 */
export function base64Length(pieces: Pieces): number {
  const length = runLength(pieces)
  const last = joinPieces(slicePieces(pieces, length - 4, length)).toString('latin1')
  const isWhole = length % 4 === 0 && Buffer.from(last, 'base64').toString('base64') === last
  return isWhole ? length : 0
}

/** Validates text by decoding, which is fastest: for invalid characters Node gives fewer bytes. */
function runLength(pieces: Pieces): number {
  let length = 0
  /** Counts the valid characters of a multiple of four; returns whether the text may continue after them. */
  const count = (letters: string, isStandard: boolean): boolean => {
    const isRun = isStandard && block.write(letters, 'base64') === (letters.length / 4) * 3
    const counted = isRun ? letters : run.exec(letters)![0]
    length += counted.length
    return isRun || (counted.length === letters.length && !letters.endsWith('='))
  }
  let carried = ''
  for (const piece of pieces) {
    // Checked separately, since Node also decodes the URL-safe alphabet.
    const isStandard = !piece.includes(dash) && !piece.includes(underscore)
    const missing = carried === '' ? 0 : 4 - carried.length
    if (missing > 0) {
      carried += piece.toString('latin1', 0, missing)
      if (carried.length < 4) continue
      if (!count(carried, false)) return length
    }
    const wholeEnd = piece.length - ((piece.length - missing) % 4)
    for (let at = missing; at < wholeEnd; at += blockCharacters) {
      const end = Math.min(at + blockCharacters, wholeEnd)
      if (!count(piece.toString('latin1', at, end), isStandard)) return length
    }
    carried = piece.toString('latin1', wholeEnd)
  }
  return length + run.exec(carried)![0].length
}

const block = Buffer.allocUnsafeSlow(blockBytes)
const dash = 0x2d
const underscore = 0x5f
const run = /^[A-Za-z0-9+/]*={0,2}/

/** Returns a reader of any bytes of base64 text, which decodes a page at a time. */
export function base64Bytes(text: Pieces): (start: number, length: number) => Buffer {
  let page: Buffer = nothing
  let pageStart = 0
  return (start, length) => {
    if (start < pageStart || start + length > pageStart + page.length) {
      pageStart = start - (start % 3)
      const bytes = Math.max(pageBytes, start + length - pageStart)
      const from = (pageStart / 3) * 4
      page = decodeBase64(slicePieces(text, from, from + Math.ceil(bytes / 3) * 4))
    }
    return page.subarray(start - pageStart, start - pageStart + length)
  }
}

const pageBytes = 1536

/**
 * The canonical base64 of a text, and whether the text is canonical itself. Other texts are read as the
 * body of a data URL: with percent-escapes, white space and no padding, or URL-safe (WHATWG Fetch,
 * `data:` URLs; Infra, forgiving-base64 decode). Undefined for text that is not base64.
 */
export function readBase64(text: string): { base64: Pieces; isCanonical: boolean } | undefined {
  const given = Buffer.from(text)
  if (base64Length([given]) === given.length) return { base64: [given], isCanonical: true }
  const plain = unescape(text).replaceAll(/[\t\n\f\r ]+/g, '')
  const letters = plain.length - (/={1,2}$/.exec(plain.slice(-2))?.[0].length ?? 0)
  const bytes = decodeBase64([Buffer.from(plain)])
  // The decoder skips invalid characters, so bytes are missing.
  if (letters % 4 === 1 || bytes.length !== Math.floor((letters * 3) / 4)) return undefined
  return { base64: encodeBase64([bytes]), isCanonical: false }
}

/**
 * The media type of a data URL in lower case, which may be empty, and its base64 text. Undefined when the URL
 * is not in base64 or has no data.
 */
export function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  // Only the start of the URL is matched, so that the pattern never scans megabytes.
  const head = /^data:([^;,]*)(?:;[^;,]*)*?; *base64,/i.exec(url.slice(0, 256))
  if (head === null) return undefined
  const base64 = url.slice(head[0].length)
  return base64 === '' ? undefined : { mediaType: head[1]!.toLowerCase(), base64 }
}
