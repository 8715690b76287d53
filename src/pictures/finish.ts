import { base64Bytes, decodeBase64, decodedLength, encodeBase64 } from '../bytes/base64.ts'
import { createQueue, type Queue } from '../bytes/queue.ts'
import { GatewayError } from '../core/error.ts'
import { ProviderFailure } from '../core/failure.ts'
import { prune } from '../core/prune.ts'
import { readPicture } from '../core/image/picture.ts'
import type {
  Conversion,
  FinishedPicture,
  ImageFormat,
  ImagePlan,
  Picture,
  Pixels,
} from '../core/image/image.ts'
import { loadSharp } from '../bytes/load-sharp.ts'
import { pixelsAssumed, pixelsText } from '../core/image/size.ts'
import { completed, isWhole, type DecodesPicture } from './whole.ts'

type Limits = { rendersConcurrentMax: number; rendersQueuedMax: number }

/** Two conversions of a JPEG of 4096x4096 to PNG run at once; one that takes more memory runs alone. */
const queueBytesMax = 128 * 1024 * 1024

/** The most pixels: over four times the largest picture of any vendor. A small file may claim any size. */
const pixelsMax = 8192 * 8192

/** Memory for each pixel that is read or written, as measured (docs/performance.md#memory). */
const readBytes: Record<ImageFormat, number> = { png: 1, jpeg: 3, webp: 7, svg: 0 }
const writtenBytes: Record<ImageFormat, number> = { png: 1, jpeg: 7, webp: 8, svg: 0 }
/** Bytes of a decoded pixel. */
const decodedBytes = 4
/** Encoding a larger WebP with the usual effort takes seconds, for a file that is a twentieth smaller. */
const easyPixelsMax = 3_000_000
/** The longest side that a format can have. */
const sideMax: Record<ImageFormat, number> = {
  png: 2 ** 31 - 1,
  jpeg: 65_535,
  webp: 16_383,
  svg: Infinity,
}

/** One limit for all CPU-heavy work on pixels: conversions and the sandbox's rendering. */
export function createPixelQueue({ rendersConcurrentMax, rendersQueuedMax }: Limits): Queue {
  return createQueue({
    concurrentMax: rendersConcurrentMax,
    bytesMax: queueBytesMax,
    waitingMax: rendersQueuedMax,
    full: () =>
      new ProviderFailure('busy', 'Too many pictures are being processed. Try again in a moment.'),
  })
}

type Shape = Pixels & { format: ImageFormat }

/** The memory that a conversion takes, without the two files. */
export function conversionBytes(from: Shape, to: Shape): number {
  const read = from.width * from.height * readBytes[from.format]
  return read + to.width * to.height * writtenBytes[to.format]
}

/**
 * Converts pictures: rotates them upright, scales them, crops them at the centre where the ratios differ,
 * and changes the format. Metadata stays where the format supports it; content credentials are lost. A
 * matching picture whose file is whole stays unchanged. A conversion may take `bytesMax` of memory.
 */
export function createConversion(pixelQueue: Queue, bytesMax: number): Conversion {
  return {
    check: (plan, made) => {
      if (plan.targetFormat === 'svg') return
      const { vendorFormat = made ?? 'jpeg', vendorPixels = pixelsAssumed } = plan
      const from = { format: vendorFormat, ...vendorPixels }
      const param = changeOf(from, plan)
      if (param === undefined) return
      const to = shapeAfter(from, plan)
      const what = `${pixelsText(to)} as ${to.format}`
      if (Math.max(to.width, to.height) > sideMax[to.format]) {
        const text = `The format cannot have ${what}: a side has at most ${sideMax[to.format]} pixels.`
        throw new GatewayError('invalid_value', text, { param: 'size' })
      }
      if (conversionBytes(from, to) > bytesMax) {
        const text =
          `The gateway has too little memory to convert a picture of ${pixelsText(from)} to ${what}. ` +
          "Choose a smaller size, or a size and format of the model's own."
        throw new GatewayError('invalid_value', text, { param })
      }
    },
    assertRoom: ({ targetPixels, targetFormat, compression }) => {
      if (targetFormat === 'svg') return
      if (targetPixels ?? targetFormat ?? compression) pixelQueue.assertRoom()
    },
    finish: async (picture, plan, signal) => {
      if (checkVector(picture, plan)) return { picture }
      const change = changeOf(picture, plan)
      if (change === undefined && isWhole(picture)) return { picture }
      if (picture.width * picture.height > pixelsMax) {
        const text = "The provider's picture is too large to be converted."
        throw new ProviderFailure('malformed', text)
      }
      const bytes = conversionBytes(picture, shapeAfter(picture, plan))
      const work = () =>
        convert(picture, plan).catch((cause: unknown) => {
          throw new ProviderFailure('malformed', "The provider's picture cannot be read.", {
            cause,
          })
        })
      // The picture is paid for, so its conversion waits in any case.
      const converted = await pixelQueue.run(work, { bytes, signal, mustWait: true })
      const isSigned = hasContentCredentials(picture)
      return { picture: converted, credentialsLostFor: isSigned ? change : undefined }
    },
  }
}

/** Whether it is a vector picture, which is delivered unchanged. Throws `malformed` for one that is not expected. */
function checkVector({ format }: Picture, { targetFormat, mayBeSvg }: ImagePlan): boolean {
  const isVector = format === 'svg'
  if (isVector === (targetFormat === 'svg') || (isVector && mayBeSvg === true)) return isVector
  const [expected, kind] = isVector ? ['pixels', 'an SVG'] : ['an SVG', `a ${format.toUpperCase()}`]
  const text = `The provider made ${kind} in place of ${expected}, which cannot be converted.`
  throw new ProviderFailure('malformed', text)
}

function shapeAfter(from: Shape, plan: ImagePlan): Shape {
  const { width, height } = plan.targetPixels ?? plan.requestedPixels ?? from
  return { width, height, format: plan.targetFormat ?? from.format }
}

/** The first setting that a picture does not match; undefined if it matches all. */
function changeOf(picture: Shape, plan: ImagePlan): FinishedPicture['credentialsLostFor'] {
  const { targetFormat, compression, vendorCompresses } = plan
  const { width, height } = shapeAfter(picture, plan)
  if (width !== picture.width || height !== picture.height) return 'size'
  if (targetFormat !== undefined && targetFormat !== picture.format) return 'output_format'
  return compression === undefined || vendorCompresses === true ? undefined : 'output_compression'
}

/** Returns whether all pixels of a picture can be decoded. */
export function createDecoder(pixelQueue: Queue): DecodesPicture {
  return ({ base64, width, height }) => {
    const decode = async () => {
      const sharp = await loadSharp()
      const decoded = sharp(decodeBase64(base64)).raw().toBuffer()
      return decoded.then(Boolean, () => false)
    }
    return pixelQueue.run(decode, { bytes: width * height * decodedBytes })
  }
}

async function convert(picture: Picture, plan: ImagePlan): Promise<Picture> {
  const { targetPixels, requestedPixels, compression } = plan
  const { width, height, format } = shapeAfter(picture, plan)
  const sharp = await loadSharp()
  const { base64 } = completed(picture) ?? picture
  const image = sharp(decodeBase64(base64)).autoOrient().keepMetadata()
  if (targetPixels ?? requestedPixels) image.resize(width, height, { fit: 'cover' })
  const quality = compression === undefined ? {} : { quality: Math.max(1, compression) }
  if (format === 'png') image.png()
  else if (format === 'jpeg') image.flatten({ background: '#ffffff' }).jpeg(quality)
  else image.webp({ ...quality, effort: width * height > easyPixelsMax ? 2 : 4 })
  const bytes = await image.toBuffer()
  const { revisedPrompt } = picture
  return { ...readPicture(encodeBase64([bytes]))!, ...prune({ revisedPrompt }) }
}

type File = { read: (start: number, length: number) => Buffer; bytes: number }

/**
 * Whether a picture's file carries content credentials: a C2PA manifest, signed by its vendor
 * (C2PA specification 2.2, appendix A.3). The signature is not verified.
 */
function hasContentCredentials({ format, base64 }: Picture): boolean {
  return finders[format]({ read: base64Bytes(base64), bytes: decodedLength(base64) })
}

const finders: Record<ImageFormat, (file: File) => boolean> = {
  png: inPng,
  jpeg: inJpeg,
  webp: inWebp,
  svg: () => false,
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
