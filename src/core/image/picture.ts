import { imageSize } from 'image-size'
import { base64Bytes, decodeBase64 } from '../../bytes/base64.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { ImageFormat, Picture } from './image.ts'
import { readSvg } from './svg.ts'

/** The most bytes of an input picture: the largest limit of a vendor, OpenAI's (docs/vendors.md#input-pictures). */
export const pictureBytesMax = 50_000_000

/** The signature at the start of each format. */
const beginnings: readonly { format: ImageFormat; pattern: RegExp }[] = [
  { format: 'png', pattern: /^\x89PNG\r\n/ },
  { format: 'jpeg', pattern: /^\xff\xd8\xff/ },
  { format: 'webp', pattern: /^RIFF[^]{4}WEBP/ },
]

/** Formats that only language models accept. */
const otherBeginnings: readonly { kind: string; pattern: RegExp }[] = [
  { kind: 'gif', pattern: /^GIF8[79]a/ },
  { kind: 'bmp', pattern: /^BM/ },
  { kind: 'tiff', pattern: /^(?:II\*\0|MM\0\*)/ },
  { kind: 'avif', pattern: /^[^]{4}ftypavi[fs]/ },
  { kind: 'heic', pattern: /^[^]{4}ftyp(?:hei[cx]|hev[cx])/ },
  { kind: 'heif', pattern: /^[^]{4}ftyp(?:mif1|msf1)/ },
]
const kinds: readonly { kind: string; pattern: RegExp }[] = [
  ...beginnings.map(({ format, pattern }) => ({ kind: format, pattern })),
  ...otherBeginnings,
]
/** The media subtypes that `pictureKind` detects. */
export const pictureKinds: ReadonlySet<string> = new Set(kinds.map(({ kind }) => kind))
const beginningCharacters = 24

/** The media subtype of a picture by its first bytes; undefined if the format is unknown. */
export function pictureKind(base64: Pieces): string | undefined {
  const beginning = decodeBase64(base64, beginningCharacters).toString('latin1')
  return kinds.find(({ pattern }) => pattern.test(beginning))?.kind
}

/** Enough characters for the size of a PNG or WebP, which is at the start of the file. */
const headerCharacters = 4096

/** Reads a picture's format and size from its bytes; undefined if not a PNG, JPEG or WebP. */
export function readPicture(base64: Pieces): Picture | undefined {
  const beginning = decodeBase64(base64, headerCharacters)
  const isJpeg = formatOf(beginning) === 'jpeg'
  const header = isJpeg ? jpegHeader(base64Bytes(base64)) : beginning
  const read = header && readHeader(header)
  return read && { base64, ...read }
}

/** Reads a vendor's picture, which may be a vector picture; undefined if it is in no format of pictures. */
export function readMade(base64: Pieces): Picture | undefined {
  return readPicture(base64) ?? readSvg(base64)
}

/** The media type of a format. */
export function mediaType(format: string): string {
  return format === 'svg' ? 'image/svg+xml' : `image/${format}`
}

function formatOf(bytes: Buffer): ImageFormat | undefined {
  const beginning = bytes.toString('latin1', 0, 16)
  return beginnings.find(({ pattern }) => pattern.test(beginning))?.format
}

/** A JPEG segment has at most 64 KiB; this many segments hold any metadata. */
const segmentsMax = 2000
const [segmentMark, exifSegment] = [0xff, 0xe1]
/** A start for a shortened JPEG: `image-size` skips the first segment, here an empty APP0. */
const jpegStart = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 2])
const jpegEnd = Buffer.alloc(16)
/** Markers of the frame segments that `image-size` reads. */
const frames = new Set([0xc0, 0xc1, 0xc2])

/**
 * A JPEG reduced to its Exif and frame segments. Other segments may take megabytes, which `image-size`
 * would copy at each step. Undefined without a frame segment.
 */
function jpegHeader(read: (start: number, length: number) => Buffer): Buffer | undefined {
  const kept: Buffer[] = [jpegStart]
  let at = 2
  for (let segment = 0; segment < segmentsMax; segment++) {
    const head = read(at, 4)
    if (head.length < 4 || head[0] !== segmentMark) return undefined
    if (head[1] === segmentMark) {
      at += 1
      continue
    }
    const length = 2 + head.readUInt16BE(2)
    const isFrame = frames.has(head[1]!)
    if (isFrame || (head[1] === exifSegment && kept.length === 1)) kept.push(read(at, length))
    if (isFrame) return Buffer.concat([...kept, jpegEnd])
    at += length
  }
  return undefined
}

function readHeader(bytes: Buffer): Omit<Picture, 'base64'> | undefined {
  // `image-size` has parsers for many formats: only these three may see untrusted bytes.
  const format = formatOf(bytes)
  if (format === undefined) return undefined
  try {
    const { width, height, orientation = 1 } = imageSize(bytes)
    // Orientations from 5 on turn the picture by 90 degrees (Exif 3.0, section 4.6.5).
    const shown = orientation < 5 ? { width, height } : { width: height, height: width }
    return { format, ...shown }
  } catch {
    return undefined
  }
}
