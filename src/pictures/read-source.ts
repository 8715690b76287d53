import sharp from 'sharp'
import { GatewayError, type ErrorCode } from '../core/error.ts'
import type { ImageSource, NamedAddress, ReadSources } from '../core/image.ts'
import { readHeader } from '../core/picture.ts'
import type { Darkroom } from './finish.ts'
import { FetchRefusal, type GuardedFetch } from './guarded-fetch.ts'

type Limits = {
  inputImageBytesMax: number
  inputImagesBytesMax: number
  inputImagePixelsMax: number
}
type Options = Pick<GuardedFetch, 'fetch'> & { darkroom: Darkroom; limits: Limits }

/** Reads input pictures through the one door, and lets none pass that cannot be decoded. */
export function createReadSources({ fetch, darkroom, limits }: Options): ReadSources {
  const { inputImageBytesMax: bytesMax, inputImagesBytesMax: allBytesMax } = limits
  return async (addresses, signal) => {
    let left = allBytesMax
    const spend = (bytes: number, param: string) => {
      left -= bytes
      if (left < 0) {
        throw tooLarge(`The images of one request may have ${allBytesMax} bytes together.`, param)
      }
    }
    const siblings = new AbortController()
    const limit = { bytesMax, signal: AbortSignal.any([signal, siblings.signal]) }
    const fetchBytes = async ({ address, param }: NamedAddress): Promise<Buffer> => {
      const pieces: Buffer[] = []
      const push = (piece: Buffer) => {
        spend(piece.length, param)
        pieces.push(piece)
      }
      try {
        await fetch(address, limit, { push })
      } catch (error) {
        throw refusalOf(error, param)
      }
      return Buffer.concat(pieces)
    }
    const read = async (named: NamedAddress): Promise<ImageSource> => {
      const { address, param } = named
      const isData = /^data:/i.test(address)
      const bytes = isData ? readDataUrl(address, param, limits, spend) : await fetchBytes(named)
      const format = checkHeader(bytes, param, limits)
      await darkroom(() => checkWhole(bytes, param, limits))
      return { format, base64: bytes.toString('base64') }
    }
    try {
      return await Promise.all(addresses.map(read))
    } finally {
      // One that is refused leaves no reason to fetch the others.
      siblings.abort()
    }
  }
}

const dataUrl = /^data:(?<type>[^;,]*)(?:;[^;,]*)*?;base64,/i

function readDataUrl(
  address: string,
  param: string,
  limits: Limits,
  spend: (bytes: number, param: string) => void,
): Buffer {
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
  if (bytes.length > limits.inputImageBytesMax) {
    throw tooLarge(`An image may have ${limits.inputImageBytesMax} bytes.`, param)
  }
  spend(bytes.length, param)
  return bytes
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

/** A vendor would refuse a broken picture in words of its own; decoding it line by line tells before. */
async function checkWhole(
  bytes: Buffer,
  param: string,
  { inputImagePixelsMax: limitInputPixels }: Limits,
): Promise<void> {
  try {
    await sharp(bytes, { failOn: 'error', sequentialRead: true, limitInputPixels })
      .resize(8, 8, { fit: 'fill', fastShrinkOnLoad: false })
      .raw()
      .toBuffer()
  } catch (cause) {
    throw refusal('invalid_value', 'The image is broken: it cannot be decoded.', param, cause)
  }
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
