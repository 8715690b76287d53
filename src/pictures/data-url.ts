import { decodedLength, readBase64, readDataUrl } from '../bytes/base64.ts'
import type { Pieces } from '../bytes/pieces.ts'
import { GatewayError, type ErrorCode } from '../core/error.ts'
import type { ExtractedTexts, NamedAddress } from '../core/image/image.ts'
import { pictureKind } from '../core/image/picture.ts'

export function isDataUrl(address: string): boolean {
  return /^data:/i.test(address)
}

/** The canonical base64 of a data URL, and whether its text is canonical. Throws a GatewayError. */
export function decodeDataUrl(
  { address, param }: NamedAddress,
  texts: ExtractedTexts,
  bytesMax: number,
): { base64: Pieces; isCanonical: boolean } {
  const text = readDataUrl(address)?.base64
  if (text === undefined) {
    const isEmpty = /^data:[^,]{0,200};base64,$/i.test(address)
    const message = isEmpty ? 'The data URL is empty.' : "The data URL has no ';base64,'."
    throw refusal('invalid_value', message, param)
  }
  const left = texts.get(text)
  const read = left === undefined ? readBase64(text) : { base64: left, isCanonical: true }
  if (read === undefined) throw refusal('invalid_value', 'The data URL is not in base64.', param)
  if (decodedLength(read.base64) > bytesMax) {
    throw tooLarge(`An image may have at most ${bytesMax} bytes.`, param)
  }
  return read
}

/** Throws a GatewayError for an address that is neither HTTPS nor a data URL. */
export function checkScheme({ address, param }: NamedAddress): void {
  if (isDataUrl(address) || /^https:/i.test(address)) return
  if (/^http:/i.test(address)) {
    throw refusal('invalid_value', 'Only https addresses are fetched, and this one is http.', param)
  }
  const beginning = address.slice(0, 64)
  const kind = pictureKind([Buffer.from(beginning)])
  if (kind !== undefined || /^[A-Za-z0-9+/]{64}$/.test(beginning)) {
    const head = `data:image/${kind ?? 'png'};base64,`
    const message = `The base64 text has no data URL prefix. Send ${head}${beginning.slice(0, 8)}…`
    throw refusal('invalid_value', message, param)
  }
  throw refusal('invalid_value', 'This is not an https address.', param)
}

const remedy = 'Give an https address or a base64 data URL of a PNG, JPEG or WebP.'
const fileRemedy = 'Send a file that is a PNG, JPEG or WebP.'
/** The parameter of a picture in a form, which is a file. */
const fileField = /^image(?:\[\d+\])?$/

/** An error with the remedy appended. */
export function refusal(
  code: ErrorCode,
  message: string,
  param: string,
  cause?: unknown,
): GatewayError {
  const then = fileField.test(param) ? fileRemedy : remedy
  return new GatewayError(code, `${message} ${then}`, { param, cause })
}

export function tooLarge(message: string, param: string): GatewayError {
  return new GatewayError('request_too_large', `${message} Send a smaller image.`, { param })
}
