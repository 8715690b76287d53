import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { bodyChecks, type Check } from '../../generated/checks.js'
import type { operations } from '../../generated/operations.ts'
import { joinPieces, type Pieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { assertValid } from './check-error.ts'
import { leaveTexts } from './left-texts.ts'
import { parseForm, type FormReading } from './read-form.ts'

type Described = (typeof operations)[number]

type ReadBody = { body: unknown; texts: LeftTexts; names: FormReading['names'] }
const ownNames: FormReading['names'] = {}

/** Reads the bytes of a body. Throws `unsupported_media_type` or `request_too_large`. */
export function piecesReader(
  types: readonly string[],
  bytesMax: number,
): (request: IncomingMessage) => Promise<Pieces> | Pieces {
  if (types.length === 0) return () => []
  return (request) => {
    checkMediaType(request, types)
    return readBody(request, bytesMax)
  }
}

/** Parses and checks a body, or keeps its bytes outside of `rest`. Throws a GatewayError. */
export function bodyReader(
  { id, bodyTypes, protocol }: Described,
  form: FormReading | undefined,
): (request: IncomingMessage, pieces: Pieces) => Promise<ReadBody> | ReadBody {
  if (bodyTypes.length === 0) return () => ({ body: undefined, texts: noTexts, names: ownNames })
  if (protocol !== 'rest')
    return (_request, pieces) => ({ body: joinPieces(pieces), texts: noTexts, names: ownNames })
  // Each `rest` operation with a body has a check, which the type of `id` does not tell.
  const check = (bodyChecks as Record<string, Check<unknown>>)[id]!
  const checked = (read: ReadBody): ReadBody => {
    assertValid(check, read.body, { names: read.names })
    return read
  }
  return (request, pieces) => {
    const isForm = form !== undefined && mediaType(request) === 'multipart/form-data'
    return isForm ? readForm(request, pieces, form).then(checked) : checked(readJson(pieces))
  }
}

function readJson(body: Pieces): ReadBody {
  const { pieces, texts } = leaveTexts(body)
  return { body: parseBody(joinPieces(pieces)), texts, names: ownNames }
}

async function readForm(
  { headers }: IncomingMessage,
  pieces: Pieces,
  { bodyOf, names }: FormReading,
): Promise<ReadBody> {
  const { fields, texts } = await parseForm(joinPieces(pieces), headers['content-type']!)
  return { body: bodyOf(fields), texts, names }
}

/** The media type of a request's body, without parameters, in lower case; `''` without one. */
function mediaType({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

/** Throws `unsupported_media_type` unless the body has one of these types and is plain UTF-8. */
function checkMediaType(request: IncomingMessage, types: readonly string[]): void {
  const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } =
    request.headers
  const type = mediaType(request)
  const charset = /charset="?([^";]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  if (!types.includes(type)) {
    throw unsupported(
      type === ''
        ? 'The request has no Content-Type.'
        : `The Content-Type '${type}' is not read here.`,
      `Send ${types.join(' or ')}.`,
    )
  }
  if (encoding !== 'identity')
    throw unsupported('Compressed bodies are not read.', 'Send it plain.')
  if (!/^utf-?8$/i.test(charset.trim()))
    throw unsupported('The charset is not read.', 'Send UTF-8.')
}

/** A body in smaller pieces on average is joined: walking over millions of them would be slow. */
const pieceBytesMin = 4096

/** Reads a whole body. Throws ClientLeft, or (also without Content-Length) `request_too_large`. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Pieces> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  // The client may have disconnected before the listeners below are set.
  if (request.destroyed) throw new ClientLeft()
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    request.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes <= bytesMax) return pieces.push(piece)
      request.removeAllListeners('data')
      return reject(tooLarge(bytesMax))
    })
    request.once('end', () =>
      resolve(bytes < pieces.length * pieceBytesMin ? [joinPieces(pieces)] : pieces),
    )
    request.once('error', () => reject(new ClientLeft()))
    request.once('close', () => {
      if (!request.complete) reject(new ClientLeft())
    })
  })
}

/** The client closed the connection before the request was complete. */
export class ClientLeft extends Error {
  override name = 'ClientLeft'
}

/** Parses a JSON body. Throws `invalid_json`, or `invalid_value` when it is nested too deeply. */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw invalidJson('The request has no body.')
  if (!isUtf8(bytes)) throw invalidJson('The body is not UTF-8.')
  const value = parseJson(bytes)
  if (isNestedDeeper(bytes, levelsMax)) {
    throw new GatewayError('invalid_value', `The body is nested deeper than ${levelsMax} levels.`)
  }
  return value
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch (cause) {
    throw invalidJson('The body is not valid JSON.', cause)
  }
}

/** JSON.parse has no limit, but JSON.stringify overflows the stack at some thousand levels. */
const levelsMax = 1000
const [quote, backslash] = [0x22, 0x5c]

/** Whether valid JSON has more levels; skips over strings, which are most of a body. */
function isNestedDeeper(bytes: Buffer, levels: number): boolean {
  if (bytes.length <= 2 * levels) return false
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) at = endOfString(bytes, at)
    else if (byte === 0x5b || byte === 0x7b) depth++
    else if (byte === 0x5d || byte === 0x7d) depth--
    if (depth > levels) return true
  }
  return false
}

/** Where a string ends: at a quote after an even number of backslashes. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); ; end = bytes.indexOf(quote, end + 1)) {
    let before = end
    while (bytes[before - 1] === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
}

function invalidJson(message: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_json', `${message} Send a JSON object.`, { cause })
}

function unsupported(message: string, remedy: string): GatewayError {
  return new GatewayError('unsupported_media_type', `${message} ${remedy}`, {
    param: 'content-type',
  })
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request is larger than ${bytesMax} bytes. Send less at once.`,
  )
}
