import { imageSize } from 'image-size'
import { decodeBase64 } from '../../bytes/base64.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { ImageFormat, Picture } from './image.ts'

/** How the bytes of each format begin. */
const beginnings: readonly { format: ImageFormat; pattern: RegExp }[] = [
  { format: 'png', pattern: /^\x89PNG\r\n/ },
  { format: 'jpeg', pattern: /^\xff\xd8\xff/ },
  { format: 'webp', pattern: /^RIFF[^]{4}WEBP/ },
]

/** How much of a picture is decoded to find its header, step by step; a JPEG may have metadata before it. */
const headerCharacters = [4096, 65_536, Infinity]

/** Reads format and size from a picture's bytes; undefined when they are not a PNG, JPEG or WebP. */
export function readPicture(base64: Pieces): Picture | undefined {
  for (const characters of headerCharacters) {
    const read = readHeader(decodeBase64(base64, characters))
    if (read !== undefined) return { base64, ...read }
  }
  return undefined
}

function readHeader(bytes: Buffer): Omit<Picture, 'base64'> | undefined {
  // The parsers of all other formats are never let near a stranger's bytes.
  const beginning = bytes.toString('latin1', 0, 16)
  const known = beginnings.find(({ pattern }) => pattern.test(beginning))
  if (known === undefined) return undefined
  try {
    const { width, height } = imageSize(bytes)
    return { format: known.format, width, height }
  } catch {
    return undefined
  }
}
