import { base64Bytes, decodeBase64, decodedLength, encodeBase64 } from '../bytes/base64.ts'
import type { Picture, Pixels } from '../core/image/image.ts'

/** Whether all pixels of a picture can be decoded. Throws a ProviderFailure when memory is short. */
export type DecodesPicture = (picture: Picture) => Promise<boolean>

type File = Pixels & { read: ReturnType<typeof base64Bytes>; bytes: number }

/**
 * Whether a picture's file is complete: its parts follow one another to the end, and a PNG has
 * enough data for its size. Pixels are not decoded, since that costs a hundred times as much
 * (docs/performance.md#large-base64-texts) and damaged pixels are harmless.
 */
export function isWhole(picture: Picture): boolean {
  const { format, base64 } = picture
  return checks[format]({ ...picture, read: base64Bytes(base64), bytes: decodedLength(base64) })
}

/**
 * The picture with the end of its file, which some programs leave out; undefined if more is missing. Of a
 * JPEG whose end was added only a decoder can see that its pixels are complete.
 */
export function completed(picture: Picture): Picture | undefined {
  if (isWhole(picture)) return picture
  const end = ends[picture.format]
  if (end === undefined) return undefined
  const ended = { ...picture, base64: encodeBase64([decodeBase64(picture.base64), end]) }
  return isWhole(ended) ? ended : undefined
}

const checks: Record<Picture['format'], (file: File) => boolean> = {
  png: isWholePng,
  jpeg: isWholeJpeg,
  webp: isWholeWebp,
  // It was read to its end.
  svg: () => true,
}

/** More parts than any real file has; bounds the work on malicious files. */
const partsMax = 100_000

/** Checks the chunks up to the last chunk (PNG, third edition, section 5.3). */
function isWholePng({ read, bytes, width, height }: File): boolean {
  if (bytes < 26 || read(12, 4).toString('latin1') !== 'IHDR') return false
  const [bitDepth, colourType] = [read(24, 1)[0]!, read(25, 1)[0]!]
  const rowBytes = (width * bitDepth * (samplesOf[colourType] ?? 1)) / 8
  let dataBytes = 0
  for (let at = 8, part = 0; at + 12 <= bytes && part < partsMax; part++) {
    const head = read(at, 8)
    const length = head.readUInt32BE(0)
    const type = head.toString('latin1', 4)
    if (type === 'IEND') return rowBytes * height <= dataBytes * deflateRatioMax
    if (type === 'IDAT') dataBytes += length
    at += 12 + length
  }
  return false
}

/** Samples per pixel by colour type; 1 where absent. */
const samplesOf: Record<number, number> = { 2: 3, 4: 2, 6: 4 }
/** The largest compression ratio of deflate (zlib, Technical Details). */
const deflateRatioMax = 1032

const [startOfScan, endOfImage] = [0xda, Buffer.from([0xff, 0xd9])]

/** Checks the segments up to the first scan, and the end marker after the scan (ITU-T T.81, section B.1). */
function isWholeJpeg({ read, bytes }: File): boolean {
  for (let at = 2, part = 0; at + 4 <= bytes && part < partsMax; part++) {
    const segment = read(at, 4)
    if (segment[0] !== 0xff) return false
    if (segment[1] === startOfScan) return endsAfter(at, { read, bytes })
    at += segment[1] === 0xff ? 1 : 2 + segment.readUInt16BE(2)
  }
  return false
}

/** Searches backwards. Pixel data cannot hold the marker: there a zero follows each 0xff. */
function endsAfter(start: number, { read, bytes }: Pick<File, 'read' | 'bytes'>): boolean {
  for (let end = bytes; end > start + 1; end -= lookBytes - 1) {
    const from = Math.max(start, end - lookBytes)
    if (read(from, end - from).includes(endOfImage)) return true
  }
  return false
}

const lookBytes = 4096

/** The last chunk of a PNG and the last marker of a JPEG. */
const ends: Partial<Record<Picture['format'], Buffer>> = {
  png: Buffer.from('0000000049454e44ae426082', 'hex'),
  jpeg: endOfImage,
}

/** Checks the chunks up to the pixels, within the length that the file declares (RFC 9649, section 2.3). */
function isWholeWebp({ read, bytes }: File): boolean {
  const end = 8 + read(4, 4).readUInt32LE(0)
  if (end > bytes) return false
  for (let at = 12, part = 0; at + 8 <= end && part < partsMax; part++) {
    const head = read(at, 8)
    const length = head.readUInt32LE(4)
    if (pixelChunks.has(head.toString('latin1', 0, 4))) return at + 8 + length <= end
    at += 8 + length + (length % 2)
  }
  return false
}

const pixelChunks = new Set(['VP8 ', 'VP8L', 'ANMF'])
