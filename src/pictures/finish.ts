import { bulkhead, BulkheadRejectedError } from 'cockatiel'
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts'
import { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import type { Darkroom } from '../core/image/darkroom.ts'
import type { ImagePlan, Picture } from '../core/image/image.ts'
import { readPicture } from '../core/image/picture.ts'

type Limits = { rendersConcurrentMax: number; rendersQueuedMax: number }

/** One limit for all CPU-heavy work on pixels: conversions and the sandbox's rendering. */
export function createDarkroom({ rendersConcurrentMax, rendersQueuedMax }: Limits): Darkroom {
  const policy = bulkhead(rendersConcurrentMax, rendersQueuedMax)
  return async (work) => {
    try {
      return await policy.execute(work)
    } catch (error) {
      if (!(error instanceof BulkheadRejectedError)) throw error
      throw new GatewayError('overloaded', 'Too many pictures are in work. Try again.', {
        cause: error,
      })
    }
  }
}

/**
 * Converts a vendor's picture as planned: scaled to the size, cropped at the centre where the
 * ratios differ, and in the format. A picture that matches already is not touched. Throws a
 * ProviderFailure if it is broken.
 */
export function createFinish(darkroom: Darkroom) {
  return (picture: Picture, plan: ImagePlan): Promise<Picture> =>
    isRight(picture, plan)
      ? Promise.resolve(picture)
      : darkroom(async () => {
          try {
            return await convert(picture, plan)
          } catch (cause) {
            const message = "The provider's picture cannot be read."
            throw new ProviderFailure('malformed', message, { cause })
          }
        })
}

function isRight(picture: Picture, plan: ImagePlan): boolean {
  const { targetFormat, compression, vendorCompresses } = plan
  const pixels = plan.targetPixels ?? plan.askedPixels
  const sized =
    pixels === undefined || (pixels.width === picture.width && pixels.height === picture.height)
  const formatted = targetFormat === undefined || targetFormat === picture.format
  return sized && formatted && (compression === undefined || vendorCompresses === true)
}

async function convert(picture: Picture, plan: ImagePlan): Promise<Picture> {
  const { targetFormat: format = picture.format, compression } = plan
  const pixels = plan.targetPixels ?? plan.askedPixels
  // Loaded on first use, since many gateways never convert a picture and it takes memory.
  const { default: sharp } = await import('sharp')
  const image = sharp(decodeBase64(picture.base64))
  if (pixels !== undefined) image.resize(pixels.width, pixels.height, { fit: 'cover' })
  const quality = compression === undefined ? {} : { quality: Math.max(1, compression) }
  if (format === 'png') image.png()
  else if (format === 'jpeg') image.flatten({ background: '#ffffff' }).jpeg(quality)
  else image.webp(quality)
  const bytes = await image.toBuffer()
  const made = readPicture(encodeBase64([bytes]))!
  return picture.revisedPrompt === undefined
    ? made
    : { ...made, revisedPrompt: picture.revisedPrompt }
}
