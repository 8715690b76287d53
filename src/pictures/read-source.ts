import type { components } from '../../generated/types.ts'
import { GatewayError, type ErrorCode } from '../core/error.ts'
import { readHeader } from '../core/picture.ts'
import { FetchRefusal, type GuardedFetch } from './guarded-fetch.ts'

export type ImageSource = components['schemas']['CanonicalImageSource']
type Limits = {
  inputImageBytesMax: number
  inputImagesBytesMax: number
  inputImagePixelsMax: number
}

/** The input pictures of one request, each with the parameter that names it. */
export type NamedAddress = { address: string; param: string }
/**
 * Reads input pictures by HTTPS address or data URL, in order. Throws a GatewayError that names the
 * parameter: 400 for what is no picture or cannot be fetched, 413 for what is too large.
 */
export type ReadSources = (
  addresses: readonly NamedAddress[],
  signal: AbortSignal,
) => Promise<ImageSource[]>

export function createReadSources(
  { fetch }: Pick<GuardedFetch, 'fetch'>,
  limits: Limits,
): ReadSources {
  const { inputImagesBytesMax: allBytesMax } = limits
  return async (addresses, signal) => {
    let left = allBytesMax
    const spend = (bytes: number, param: string) => {
      left -= bytes
      if (left < 0) {
        throw tooLarge(`The images of one request may have ${allBytesMax} bytes together.`, param)
      }
    }
    const read = async ({ address, param }: NamedAddress): Promise<ImageSource> => {
      if (address.startsWith('data:')) return readDataUrl(address, param, limits, spend)
      const pieces: Buffer[] = []
      const push = (piece: Buffer) => {
        spend(piece.length, param)
        pieces.push(piece)
      }
      try {
        await fetch(address, { bytesMax: limits.inputImageBytesMax, signal }, { push })
      } catch (error) {
        throw refusalOf(error, param)
      }
      const bytes = Buffer.concat(pieces)
      return { format: checkHeader(bytes, param, limits), base64: bytes.toString('base64') }
    }
    return Promise.all(addresses.map(read))
  }
}

const dataUrl = /^data:(?<type>[^;,]*)(?:;[^;,]*)*?;base64,/i

function readDataUrl(
  address: string,
  param: string,
  limits: Limits,
  spend: (bytes: number, param: string) => void,
): ImageSource {
  // Only the head: the pattern must not walk over megabytes.
  const head = dataUrl.exec(address.slice(0, 256))
  if (head === null) throw refusal('invalid_value', 'The data URL is not in base64.', param)
  const base64 = address.slice(head[0].length)
  const announced = Math.floor((base64.length * 3) / 4)
  if (announced > limits.inputImageBytesMax + 2) {
    throw tooLarge(`An image may have ${limits.inputImageBytesMax} bytes.`, param)
  }
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length === 0) throw refusal('invalid_value', 'The data URL is empty.', param)
  // Decoding passes over what is not base64; then bytes are missing.
  if (announced - bytes.length > 2) {
    throw refusal('invalid_value', 'The data URL is not in base64.', param)
  }
  spend(bytes.length, param)
  return { format: checkHeader(bytes, param, limits), base64 }
}

function checkHeader(
  bytes: Buffer,
  param: string,
  { inputImagePixelsMax }: Limits,
): ImageSource['format'] {
  const picture = readHeader(bytes)
  if (picture === undefined) {
    throw refusal('invalid_value', 'This is not a PNG, JPEG or WebP image.', param)
  }
  const { format, width, height } = picture
  if (width * height <= inputImagePixelsMax && width * height > 0) return format
  throw refusal(
    'invalid_value',
    `The image has ${width}x${height} pixels; ${inputImagePixelsMax} in all are allowed.`,
    param,
  )
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

function tooLarge(message: string, param: string): GatewayError {
  return new GatewayError('request_too_large', `${message} Send a smaller image.`, { param })
}
