import { base64Bytes, decodedLength } from '../bytes/base64.ts'
import type { ImageFormat, Picture } from '../core/image/image.ts'

type File = { read: (start: number, length: number) => Buffer; bytes: number }

/**
 * Whether a picture's file carries content credentials: a C2PA manifest, signed by its vendor
 * (C2PA specification 2.2, appendix A.3). The signature is not verified.
 */
export function hasContentCredentials({ format, base64 }: Picture): boolean {
  return finders[format]({ read: base64Bytes(base64), bytes: decodedLength(base64) })
}

const finders: Record<ImageFormat, (file: File) => boolean> = {
  png: inPng,
  jpeg: inJpeg,
  webp: inWebp,
}

/** More parts than real files have before their pixels; bounds the work on malicious files. */
const partsMax = 1000

/** Looks for a chunk `caBX`. */
function inPng({ read, bytes }: File): boolean {
  for (let at = 8, part = 0; at + 12 <= bytes && part < partsMax; part++) {
    const head = read(at, 8)
    if (head.toString('latin1', 4) === 'caBX') return true
    at += 12 + head.readUInt32BE(0)
  }
  return false
}

const [startOfScan, applicationSegment11] = [0xda, 0xeb]

/** Looks for JUMBF boxes: segments APP11 that begin with `JP`. */
function inJpeg({ read, bytes }: File): boolean {
  for (let at = 2, part = 0; at + 6 <= bytes && part < partsMax; part++) {
    const segment = read(at, 6)
    if (segment[0] !== 0xff || segment[1] === startOfScan) return false
    if (segment[1] === applicationSegment11 && segment.toString('latin1', 4) === 'JP') return true
    at += segment[1] === 0xff ? 1 : 2 + segment.readUInt16BE(2)
  }
  return false
}

/** Looks for a chunk `C2PA`. */
function inWebp({ read, bytes }: File): boolean {
  for (let at = 12, part = 0; at + 8 <= bytes && part < partsMax; part++) {
    const head = read(at, 8)
    if (head.toString('latin1', 0, 4) === 'C2PA') return true
    const length = head.readUInt32LE(4)
    at += 8 + length + (length % 2)
  }
  return false
}
