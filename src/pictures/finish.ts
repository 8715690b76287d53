import { bulkhead, BulkheadRejectedError } from 'cockatiel'
import sharp from 'sharp'
import { GatewayError } from '../core/error.ts'
import type { Picture } from '../core/image.ts'
import type { ImagePlan } from '../core/image-plan.ts'
import { decode, readPicture } from '../core/picture.ts'

type Limits = { rendersConcurrentMax: number; rendersQueuedMax: number }

/**
 * Makes a vendor's picture the one that was asked for: fitted to the size, cropped at the centre where
 * the shapes differ, and in the format. A picture that is right already passes as it is.
 */
export function createFinish({ rendersConcurrentMax, rendersQueuedMax }: Limits) {
  const policy = bulkhead(rendersConcurrentMax, rendersQueuedMax)
  return async (picture: Picture, plan: ImagePlan): Promise<Picture> => {
    if (isRight(picture, plan)) return picture
    try {
      return await policy.execute(() => convert(picture, plan))
    } catch (error) {
      if (!(error instanceof BulkheadRejectedError)) throw error
      throw new GatewayError('overloaded', 'Too many pictures wait to be converted. Try again.', {
        cause: error,
      })
    }
  }
}

function isRight(
  picture: Picture,
  { targetPixels, targetFormat, compression }: ImagePlan,
): boolean {
  const sized =
    targetPixels === undefined ||
    (targetPixels.width === picture.width && targetPixels.height === picture.height)
  const formatted = targetFormat === undefined || targetFormat === picture.format
  return sized && formatted && compression === undefined
}

async function convert(picture: Picture, plan: ImagePlan): Promise<Picture> {
  const { targetPixels: target, targetFormat: format = picture.format, compression } = plan
  const image = sharp(decode(picture.base64, Infinity))
  if (target !== undefined) image.resize(target.width, target.height, { fit: 'cover' })
  const quality = compression === undefined ? {} : { quality: Math.max(1, compression) }
  if (format === 'png') image.png()
  else if (format === 'jpeg') image.flatten({ background: '#ffffff' }).jpeg(quality)
  else image.webp(quality)
  const bytes = await image.toBuffer()
  const made = readPicture([Buffer.from(bytes.toString('base64'), 'latin1')])!
  return picture.revisedPrompt === undefined
    ? made
    : { ...made, revisedPrompt: picture.revisedPrompt }
}
