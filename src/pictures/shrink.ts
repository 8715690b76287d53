import { decodeBase64, encodeBase64 } from '../bytes/base64.ts'
import { piecesLength } from '../bytes/pieces.ts'
import type { Queue } from '../bytes/queue.ts'
import { readPicture } from '../core/image/picture.ts'
import type { Picture, ShrinkPicture } from '../core/image/image.ts'
import { loadSharp } from '../bytes/load-sharp.ts'
import { conversionBytes } from './finish.ts'

/** Each attempt scales the sides by this factor. */
const step = 0.7
/** The smallest side of a preview: smaller previews are useless. */
const sideMin = 64
const quality = 80

/** Makes previews: JPEG, or WebP for transparent pictures, as large as the byte limit allows. */
export function createShrink(pixelQueue: Pick<Queue, 'run'>): ShrinkPicture {
  return async (picture, bytesMax) => {
    if (picture.format === 'svg') return undefined
    const bytes = conversionBytes(picture, { ...picture, format: 'webp' })
    return pixelQueue.run(() => shrunk(picture, bytesMax), { bytes })
  }
}

async function shrunk(picture: Picture, bytesMax: number): Promise<Picture | undefined> {
  const sharp = await loadSharp()
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
