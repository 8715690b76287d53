import { decodeBase64, encodeBase64 } from '../bytes/base64.ts'
import { piecesLength } from '../bytes/pieces.ts'
import { type PixelQueue, readPicture } from '../core/image/picture.ts'
import type { Picture, ShrinkPicture } from '../core/image/image.ts'

/** Each attempt scales the sides by this factor. */
const step = 0.7
/** The smallest side of a preview: smaller previews are useless. */
const sideMin = 64
const quality = 80

/** Makes previews: JPEG, or WebP for transparent pictures, as large as the byte limit allows. */
export function createShrink(pixelQueue: PixelQueue): ShrinkPicture {
  return (picture, bytesMax) =>
    pixelQueue(2 * picture.width * picture.height, () => shrunk(picture, bytesMax))
}

async function shrunk(picture: Picture, bytesMax: number): Promise<Picture | undefined> {
  // sharp is loaded on first use: it takes memory, and many gateways never convert a picture.
  const { default: sharp } = await import('sharp')
  const bytes = decodeBase64(picture.base64)
  const { isOpaque } = await sharp(bytes).stats()
  const longest = Math.max(picture.width, picture.height)
  for (let side = longest; side >= Math.min(sideMin, longest); side = Math.floor(side * step)) {
    const image = sharp(bytes)
      .autoOrient()
      .resize(side, side, { fit: 'inside', withoutEnlargement: true })
    const small = isOpaque ? image.jpeg({ quality }) : image.webp({ quality })
    const base64 = encodeBase64([await small.toBuffer()])
    if (piecesLength(base64) <= bytesMax) return readPicture(base64)
  }
  return undefined
}
