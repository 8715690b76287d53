import { imageSize } from 'image-size'
import { decodeBase64 } from '../../bytes/base64.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { ImageFormat, Picture } from './image.ts'

/** The signature at the start of each format. */
const beginnings: readonly { format: ImageFormat; pattern: RegExp }[] = [
  { format: 'png', pattern: /^\x89PNG\r\n/ },
  { format: 'jpeg', pattern: /^\xff\xd8\xff/ },
  { format: 'webp', pattern: /^RIFF[^]{4}WEBP/ },
]

/** Of pictures that language models may see, though no image model here takes them. */
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
/** The subtypes of media types that `pictureKind` tells apart. */
export const pictureKinds: ReadonlySet<string> = new Set(kinds.map(({ kind }) => kind))
const beginningCharacters = 24

/** The subtype of a picture's media type, by its first bytes; undefined if it is none. */
export function pictureKind(base64: Pieces): string | undefined {
  const beginning = decodeBase64(base64, beginningCharacters).toString('latin1')
  return kinds.find(({ pattern }) => pattern.test(beginning))?.kind
}

/** How much is decoded to find the header, in steps: a JPEG may have metadata before it. */
const headerCharacters = [4096, 65_536, Infinity]

/** Reads a picture's format and size from its bytes; undefined if not a PNG, JPEG or WebP. */
export function readPicture(base64: Pieces): Picture | undefined {
  for (const characters of headerCharacters) {
    const read = readHeader(decodeBase64(base64, characters))
    if (read !== undefined) return { base64, ...read }
  }
  return undefined
}

function readHeader(bytes: Buffer): Omit<Picture, 'base64'> | undefined {
  // `image-size` has parsers for many formats: only these three may see untrusted bytes.
  const beginning = bytes.toString('latin1', 0, 16)
  const known = beginnings.find(({ pattern }) => pattern.test(beginning))
  if (known === undefined) return undefined
  try {
    const { width, height, orientation = 1 } = imageSize(bytes)
    // From 5 on a viewer turns the picture by a quarter (Exif 3.0, section 4.6.5).
    const shown = orientation < 5 ? { width, height } : { width: height, height: width }
    return { format: known.format, ...shown }
  } catch {
    return undefined
  }
}
