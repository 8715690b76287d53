import { createBase64Encoder, decodedLength, encodeBase64, readDataUrl } from '../bytes/base64.ts'
import { piecesLength, type Pieces } from '../bytes/pieces.ts'
import { GatewayError, type ErrorCode } from '../core/error.ts'
import {
  noTexts,
  type ImageSource,
  type LeftTexts,
  type NamedAddress,
  type ReadSources,
} from '../core/image/image.ts'
import { readPicture } from '../core/image/picture.ts'
import { FetchRefusal, type GuardedFetch } from './guarded-fetch.ts'
import { isWhole } from './whole.ts'

type Limits = {
  inputImageBytesMax: number
  inputImagesBytesMax: number
  inputImagePixelsMax: number
}
type Options = Pick<GuardedFetch, 'fetch'> & { limits: Limits }

/** Reads input pictures and checks that each is complete and within the limits. */
export function createReadSources({ fetch, limits }: Options): ReadSources {
  const { inputImageBytesMax: bytesMax, inputImagesBytesMax: allBytesMax } = limits
  return async (addresses, signal, texts = noTexts) => {
    let left = allBytesMax
    const spend = (bytes: number, param: string) => {
      left -= bytes
      if (left < 0) {
        throw tooLarge(`The images of one request may have ${allBytesMax} bytes together.`, param)
      }
    }
    const siblings = new AbortController()
    const limit = { bytesMax, signal: AbortSignal.any([signal, siblings.signal]) }
    const fetchText = async ({ address, param }: NamedAddress): Promise<Pieces> => {
      const encoder = createBase64Encoder()
      const push = (piece: Buffer) => {
        spend(piece.length, param)
        encoder.push(piece)
      }
      try {
        await fetch(address, limit, { push })
      } catch (error) {
        throw signal.aborted ? tooLate(param) : refusalOf(error, param)
      }
      return encoder.finish()
    }
    const read = async (named: NamedAddress): Promise<ImageSource> => {
      const { address, param } = named
      const isData = /^data:/i.test(address)
      const base64 = isData ? decodeDataUrl(named, texts, bytesMax) : await fetchText(named)
      if (isData) spend(decodedLength(base64), param)
      return { format: checkPicture(base64, param, limits), base64 }
    }
    try {
      return await Promise.all(addresses.map(read))
    } finally {
      // After one refusal the other fetches are useless.
      siblings.abort()
    }
  }
}

/** The base64 text of a data URL, in canonical form. */
function decodeDataUrl(
  { address, param }: NamedAddress,
  texts: LeftTexts,
  bytesMax: number,
): Pieces {
  const text = readDataUrl(address)?.base64
  if (text === undefined) {
    throw refusal('invalid_value', 'The data URL is empty or not in base64.', param)
  }
  const left = texts.get(text)
  const characters = left === undefined ? text.length : piecesLength(left)
  const announced = Math.floor((characters * 3) / 4)
  if (announced > bytesMax + 2) throw tooLarge(`An image may have ${bytesMax} bytes.`, param)
  const base64 = left ?? encodeBase64([Buffer.from(text, 'base64')])
  const bytes = decodedLength(base64)
  // The decoder skips invalid characters, so bytes are missing.
  if (announced - bytes > 2) {
    throw refusal('invalid_value', 'The data URL is not in base64.', param)
  }
  if (bytes > bytesMax) throw tooLarge(`An image may have ${bytesMax} bytes.`, param)
  return base64
}

function checkPicture(
  base64: Pieces,
  param: string,
  { inputImagePixelsMax }: Limits,
): ImageSource['format'] {
  const picture = readPicture(base64)
  if (picture === undefined) {
    throw refusal('invalid_value', 'This is not a PNG, JPEG or WebP image.', param)
  }
  const { format, width, height } = picture
  if (width * height > inputImagePixelsMax || width * height === 0) {
    throw refusal(
      'invalid_value',
      `The image has ${width}x${height} pixels; ${inputImagePixelsMax} in all are allowed.`,
      param,
    )
  }
  if (isWhole(picture)) return format
  // Vendors would refuse it too, each with another message.
  throw refusal('invalid_value', 'The image is broken: it cannot be decoded.', param)
}

function refusalOf(error: unknown, param: string): Error {
  if (!(error instanceof FetchRefusal))
    return error instanceof Error ? error : new Error(String(error))
  if (error.reason === 'size') return tooLarge(error.message, param)
  const code = error.reason === 'address' ? 'invalid_value' : 'image_fetch_failed'
  return refusal(code, `The image was not fetched: ${error.message}`, param, error)
}

function refusal(code: ErrorCode, message: string, param: string, cause?: unknown): GatewayError {
  const remedy = 'Give an https address or a base64 data URL of a PNG, JPEG or WebP.'
  return new GatewayError(code, `${message} ${remedy}`, { param, cause })
}

function tooLate(param: string): GatewayError {
  return new GatewayError('timeout', 'The image was not fetched before the call ended.', { param })
}

function tooLarge(message: string, param: string): GatewayError {
  return new GatewayError('request_too_large', `${message} Send a smaller image.`, { param })
}
