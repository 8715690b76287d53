import { createBase64Encoder, decodedLength, encodedBytes } from '../bytes/base64.ts'
import type { Pieces } from '../bytes/pieces.ts'
import { GatewayError, assertTaken } from '../core/error.ts'
import {
  noTexts,
  type ImageSource,
  type NamedAddress,
  type ReadSources,
} from '../core/image/image.ts'
import { pictureBytesMax, pictureKind } from '../core/image/picture.ts'
import { checkSource } from './check-picture.ts'
import { checkScheme, decodeDataUrl, isDataUrl, refusal, tooLarge } from './data-url.ts'
import type { DecodesPicture } from './whole.ts'
import { FetchRefusal, type GuardedFetch } from './guarded-fetch.ts'

/** The most bytes of all input pictures of a call, which stay in memory until the call ends. */
const allBytesMax = 64 * 1024 * 1024

/** Reads input pictures and checks that each is complete and within the limits. */
export function createReadSources(
  { fetch }: Pick<GuardedFetch, 'fetch'>,
  decodes: DecodesPicture,
): ReadSources {
  return async (addresses, { signal, memory, takesHeic = false }, texts = noTexts) => {
    let left = allBytesMax
    const spend = (bytes: number, param: string) => {
      left -= bytes
      if (left >= 0) return
      const text = `The images of one request may have at most ${allBytesMax} bytes in total.`
      throw tooLarge(text, param)
    }
    const siblings = new AbortController()
    const limit = { bytesMax: pictureBytesMax, signal: AbortSignal.any([signal, siblings.signal]) }
    const fetchText = async ({ address, param }: NamedAddress): Promise<Pieces> => {
      const encoder = createBase64Encoder()
      const push = (piece: Buffer) => {
        spend(piece.length, param)
        assertTaken(memory.take(encodedBytes(piece)))
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
      checkScheme(named)
      const isData = isDataUrl(address)
      const text = isData
        ? decodeDataUrl(named, texts, pictureBytesMax).base64
        : await fetchText(named)
      if (isData) spend(decodedLength(text), param)
      const kind = takesHeic ? pictureKind(text) : undefined
      if (kind === 'heic' || kind === 'heif') {
        return { base64: text, format: kind, width: 0, height: 0, param }
      }
      const { base64, format, width, height } = await checkSource(text, param, decodes)
      return { base64, format, width, height, param }
    }
    try {
      return await Promise.all(addresses.map(read))
    } finally {
      // After one error the call fails, so the other fetches are aborted.
      siblings.abort()
    }
  }
}

function refusalOf(error: unknown, param: string): Error {
  if (!(error instanceof FetchRefusal))
    return error instanceof Error ? error : new Error(String(error))
  if (error.reason === 'size') return tooLarge(error.message, param)
  const code = error.reason === 'address' ? 'invalid_value' : 'image_fetch_failed'
  return refusal(code, `The image was not fetched: ${error.message}`, param, error)
}

function tooLate(param: string): GatewayError {
  return new GatewayError('timeout', 'The image was not fetched before the call ended.', { param })
}
