import { decodeBase64, decodedLength, readDataUrl } from '../bytes/base64.ts'
import { joinPieces, type Pieces } from '../bytes/pieces.ts'
import type { CheckPicture, NamedAddress, Picture, Pixels } from '../core/image/image.ts'
import type { Warning } from '../core/model.ts'
import { pictureBytesMax, pictureKind, pictureKinds, readPicture } from '../core/image/picture.ts'
import { isSvg } from '../core/image/svg.ts'
import { checkScheme, decodeDataUrl, isDataUrl, refusal } from './data-url.ts'
import { isPrivateHost } from '../core/public-address.ts'
import { completed, type DecodesPicture } from './whole.ts'
import type { GatewayError } from '../core/error.ts'

/** The most pixels of an input picture: a conversion takes four bytes per pixel, 200 MB. */
const pixelsMax = 50_000_000

/** The smallest side that vendors document (docs/vendors.md#input-pictures). */
const sideMin = 8

/**
 * A PNG, JPEG or WebP that is complete and within the limits; the end of a PNG's file is added if it is
 * missing. A JPEG may lack its end: `checkSource` decodes and ends it after the rate limits. Throws a GatewayError.
 */
export function checkPicture(base64: Pieces, param: string): Picture {
  const picture = readPicture(base64)
  if (picture === undefined) {
    if (isSvg(base64)) throw svgRefusal(param)
    const kind = pictureKind(base64)
    if (kind !== undefined && readByAll.has(kind)) throw broken(param)
    const what = kind === undefined ? 'This' : `This is a ${kind.toUpperCase()} image. It`
    throw refusal('invalid_value', `${what} is not a PNG, JPEG or WebP image.`, param)
  }
  checkSize(picture, param)
  const ended = completed(picture)
  if (ended === undefined) throw broken(param)
  return ended.format === 'png' ? ended : picture
}

/** The same, also for a JPEG without the end of its file, which is decoded to see that it is complete. */
export async function checkSource(
  base64: Pieces,
  param: string,
  decodes: DecodesPicture,
): Promise<Picture> {
  const picture = checkPicture(base64, param)
  const ended = completed(picture)!
  if (ended !== picture && !(await decodes(ended))) throw broken(param)
  return ended
}

function svgRefusal(param: string): GatewayError {
  const text = 'This is not a PNG, JPEG or WebP image, but an SVG. Convert it to a PNG first.'
  return refusal('invalid_value', text, param)
}

/** Vendors refuse broken images too, each with a different message. */
function broken(param: string): GatewayError {
  return refusal('invalid_value', 'The image is broken: it cannot be decoded.', param)
}

function checkSize({ width, height }: Pixels, param: string): void {
  if (width * height > pixelsMax || width * height === 0) {
    const message = `The image has ${width}x${height} pixels; at most ${pixelsMax} are allowed.`
    throw refusal('invalid_value', message, param)
  }
  if (Math.min(width, height) < sideMin) {
    const message = `The image has ${width}x${height} pixels; each side must have at least ${sideMin}.`
    throw refusal('invalid_value', message, param)
  }
}

/** Checks pictures of conversations by their headers (docs/behaviour.md#chat). */
export const checkNamedPicture: CheckPicture = (named, texts, warnings) => {
  const { address, param } = named
  checkScheme(named)
  if (!isDataUrl(address)) return publicAddress(named)
  const read = decodeDataUrl(named, texts, pictureBytesMax)
  const { base64 } = read
  const kind = pictureKind(base64)
  if (kind === undefined) {
    if (isSvg(base64)) throw svgRefusal(param)
    throw refusal('invalid_value', 'This is not a PNG, JPEG, WebP or GIF image.', param)
  }
  const checked = readByAll.has(kind) ? checkPicture(base64, param).base64 : base64
  if (kind === 'gif') checkSize(gifSize(base64), param)
  const isCanonical = read.isCanonical && checked === base64
  return labelled(named, kind, { base64: checked, isCanonical }, warnings)
}

/**
 * The normalised address, since other programs parse some spellings as a different host. Throws a
 * GatewayError for a host in a private network: a vendor or an endpoint of the operator may fetch the
 * address.
 */
function publicAddress({ address, param }: NamedAddress): string {
  const url = URL.parse(address)
  if (url === null) throw refusal('invalid_value', 'This is not an https address.', param)
  if (!isPrivateHost(url)) return url.href
  throw refusal('invalid_value', 'The image was not fetched: The address is not public.', param)
}

/** The logical screen of a GIF (GIF89a, section 18). */
function gifSize(base64: Pieces): Pixels {
  const head = decodeBase64(base64, 16)
  if (head.length < 10) return { width: 0, height: 0 }
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) }
}

const readByAll = new Set(['png', 'jpeg', 'webp'])
/** Synonyms of media types. */
const synonyms: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/x-ms-bmp': 'image/bmp',
  'image/heif': 'image/heic',
}
/** Image types that are recognised by their bytes, so that a wrong media type is noticed. */
const recognisable = new Set([...[...pictureKinds].map((kind) => `image/${kind}`), 'image/svg+xml'])
const unspecific = new Set(['', 'application/octet-stream', 'binary/octet-stream'])

/** The data URL in canonical form with its true media type; warns if the URL declared a different type. */
function labelled(
  { address, param }: { address: string; param: string },
  kind: string,
  { base64, isCanonical }: ReturnType<typeof decodeDataUrl>,
  warnings: Warning[],
): string {
  const truth = `image/${kind}`
  const head = `data:${truth};base64,`
  if (isCanonical && address.startsWith(head)) return address
  const { mediaType, base64: text } = readDataUrl(address)!
  const named = synonyms[mediaType] ?? mediaType
  const isOther = named.startsWith('image/') ? recognisable.has(named) : !unspecific.has(named)
  if (isOther && named !== (synonyms[truth] ?? truth)) {
    const reason = `The data URL says ${mediaType}, but its ${decodedLength(base64)} bytes are ${truth}. Write data:${truth};base64,…`
    warnings.push({ param, requested: mediaType, applied: truth, reason })
  }
  return head + (isCanonical ? text : joinPieces(base64).toString('latin1'))
}
