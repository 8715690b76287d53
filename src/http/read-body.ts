import type { IncomingMessage } from 'node:http'
import { bodyChecks, type Check } from '../../generated/checks.js'
import type { operations } from '../../generated/operations.ts'
import { joinPieces, type Pieces } from '../bytes/pieces.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { assertValid } from './check-error.ts'
import { leaveTexts } from './left-texts.ts'
import { checkMediaType, isForm } from './media-type.ts'
import { parseBody } from './parse-json.ts'
import { parseForm, type FormReading } from './read-form.ts'
import { tooLarge, unpacked, unpackingError } from './unpack.ts'

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
    if (form === undefined || !isForm(request)) return checked(readJson(pieces))
    return readForm(request, pieces, form).then(checked)
  }
}

function readJson(body: Pieces): ReadBody {
  const { pieces, texts } = leaveTexts(body)
  return { body: parseBody(joinPieces(pieces), () => joinPieces(body)), texts, names: ownNames }
}

async function readForm(
  { headers }: IncomingMessage,
  pieces: Pieces,
  { bodyOf, names }: FormReading,
): Promise<ReadBody> {
  const { fields, texts } = await parseForm(joinPieces(pieces), headers['content-type']!)
  return { body: bodyOf(fields), texts, names }
}

/** A body in smaller pieces on average is joined: walking over millions of them would be slow. */
const pieceBytesMin = 4096

/**
 * Reads a whole body and unpacks it. Throws ClientLeft, `invalid_value` when it cannot be unpacked,
 * or (also without Content-Length, and for what it unpacks to) `request_too_large`.
 */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Pieces> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  // The client may have disconnected before the listeners below are set.
  if (request.destroyed) throw new ClientLeft()
  const stream = unpacked(request, bytesMax)
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes <= bytesMax) return pieces.push(piece)
      stream.removeAllListeners('data')
      if (stream !== request) stream.destroy()
      return reject(tooLarge(bytesMax))
    })
    stream.once('end', () =>
      resolve(bytes < pieces.length * pieceBytesMin ? [joinPieces(pieces)] : pieces),
    )
    if (stream !== request) stream.once('error', (cause) => reject(unpackingError(cause)))
    request.once('error', () => reject(new ClientLeft()))
    request.once('close', () => {
      if (request.complete) return
      if (stream !== request) stream.destroy()
      reject(new ClientLeft())
    })
  })
}

/** The client closed the connection before the request was complete. */
export class ClientLeft extends Error {
  override name = 'ClientLeft'
}
