import { decodeBase64, encodeBase64 } from '../bytes/base64.ts'
import type { Budget } from '../bytes/budget.ts'
import { ProviderFailure } from '../core/failure.ts'
import { type PixelQueue, readPicture } from '../core/image/picture.ts'
import type { FinishedPicture, FinishPicture, ImagePlan, Picture } from '../core/image/image.ts'
import { createQueue } from '../core/resilience/queue.ts'
import { hasContentCredentials } from './content-credentials.ts'
import { isWhole, withEnd, type DecodesPicture } from './whole.ts'

type Limits = { rendersConcurrentMax?: number; rendersQueuedMax?: number }

/** Each conversion takes one of libuv's four threads, which file access and DNS look-ups share. */
const concurrentMax = 2
/** More conversions than can finish before the deadline of a call. */
const queuedMax = 256

const bytesPerPixel = 4
/** The most pixels: over four times the largest picture of any vendor. A small file may claim any size. */
const pixelsMax = 8192 * 8192

/** One limit for all CPU-heavy work on pixels: conversions and the sandbox's rendering. */
export function createPixelQueue(
  { rendersConcurrentMax = concurrentMax, rendersQueuedMax = queuedMax }: Limits,
  budget: Pick<Budget, 'open'>,
): PixelQueue {
  const queue = createQueue({
    concurrentMax: rendersConcurrentMax,
    waitingMax: rendersQueuedMax,
    full: () =>
      new ProviderFailure('busy', 'Too many pictures are being processed. Try again in a moment.'),
  })
  const held = async <T>(pixels: number, work: () => Promise<T>): Promise<T> => {
    const hold = budget.open()
    try {
      if (hold.takeMore(pixels * bytesPerPixel) === undefined) return await work()
      throw new ProviderFailure('no_memory', 'Not enough memory for the picture.')
    } finally {
      hold.release()
    }
  }
  return (pixels, work) => queue(() => held(pixels, work))
}

/**
 * Converts a vendor's picture as planned: rotates it upright, scales it, crops it at the centre
 * where the ratios differ, and changes the format. A matching picture whose file is whole stays unchanged. Metadata
 * stays where the format supports it; content credentials are lost. Throws a ProviderFailure for a
 * broken picture.
 */
export function createFinish(pixelQueue: PixelQueue): FinishPicture {
  return async (picture, plan) => {
    const change = changeOf(picture, plan)
    if (change === undefined && isWhole(picture)) return { picture }
    if (picture.width * picture.height > pixelsMax) {
      throw new ProviderFailure('malformed', "The provider's picture is too large to be converted.")
    }
    const asked = plan.targetPixels ?? plan.askedPixels ?? { width: 0, height: 0 }
    const pixels = picture.width * picture.height + asked.width * asked.height
    const converted = await pixelQueue(pixels, async () => {
      try {
        return await convert(picture, plan)
      } catch (cause) {
        const message = "The provider's picture cannot be read."
        throw new ProviderFailure('malformed', message, { cause })
      }
    })
    return hasContentCredentials(picture)
      ? { picture: converted, credentialsLostFor: change }
      : { picture: converted }
  }
}

/** The first setting that a picture does not match; undefined if it matches all. */
function changeOf(picture: Picture, plan: ImagePlan): FinishedPicture['credentialsLostFor'] {
  const { targetFormat, compression, vendorCompresses } = plan
  const pixels = plan.targetPixels ?? plan.askedPixels
  if (pixels !== undefined) {
    if (pixels.width !== picture.width || pixels.height !== picture.height) return 'size'
  }
  if (targetFormat !== undefined && targetFormat !== picture.format) return 'output_format'
  return compression === undefined || vendorCompresses === true ? undefined : 'output_compression'
}

/** Returns whether all pixels of a picture can be decoded. */
export function createDecoder(pixelQueue: PixelQueue): DecodesPicture {
  return ({ base64, width, height }) =>
    pixelQueue(width * height, async () => {
      const { default: sharp } = await import('sharp')
      const decoded = sharp(decodeBase64(base64)).raw().toBuffer()
      return decoded.then(
        () => true,
        () => false,
      )
    })
}

async function convert(picture: Picture, plan: ImagePlan): Promise<Picture> {
  const { targetFormat: format = picture.format, compression } = plan
  const pixels = plan.targetPixels ?? plan.askedPixels
  // sharp is loaded on first use: it takes memory, and many gateways never convert a picture.
  const { default: sharp } = await import('sharp')
  const { base64 } = isWhole(picture) ? picture : (withEnd(picture) ?? picture)
  const image = sharp(decodeBase64(base64)).autoOrient().keepMetadata()
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
