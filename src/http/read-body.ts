import type { IncomingMessage } from 'node:http'
import { bodyChecks, type Check } from '../../generated/checks.js'
import type { operations } from '../../generated/operations.ts'
import type { Hold } from '../bytes/budget.ts'
import type { Peer } from '../bytes/books.ts'
import { joinPieces, piecesLength, type Pieces } from '../bytes/pieces.ts'
import { GatewayError } from '../core/error.ts'
import { noTexts, type LeftTexts } from '../core/image/image.ts'
import { noRoom } from '../core/room.ts'
import { assertValid } from './check-error.ts'
import { leaveTexts } from './left-texts.ts'
import { checkMediaType, isForm } from './media-type.ts'
import { parseBody } from './parse-json.ts'
import { parseForm, type FormReading } from './read-form.ts'
import { tooLarge, unpacked, unpackingError } from './unpack.ts'

type Described = (typeof operations)[number]

type ReadBody = { body: unknown; texts: LeftTexts; names: FormReading['names'] }
const ownNames: FormReading['names'] = {}

export type BodyLimits = {
  requestBytesMax: number
  requestValuesMax: number
  requestIdleTimeoutMs: number
}

/** Reads the bytes of a body. Throws `unsupported_media_type`, or what `readBody` throws. */
export function piecesReader(
  types: readonly string[],
  limits: BodyLimits,
): (request: IncomingMessage, hold: Hold) => Promise<Pieces> | Pieces {
  if (types.length === 0) return () => []
  return (request, hold) => {
    checkMediaType(request, types)
    return readBody(request, hold, limits)
  }
}

/** Parses and checks a body, or keeps its bytes outside of `rest`. Throws a GatewayError. */
export function bodyReader(
  { id, bodyTypes, protocol }: Described,
  form: FormReading | undefined,
  { requestValuesMax }: BodyLimits,
): (request: IncomingMessage, pieces: Pieces, hold: Hold) => Promise<ReadBody> | ReadBody {
  if (bodyTypes.length === 0) return () => ({ body: undefined, texts: noTexts, names: ownNames })
  if (protocol !== 'rest') {
    return (_request, pieces, hold) => {
      holdParsed(pieces, hold)
      return { body: joinPieces(pieces), texts: noTexts, names: ownNames }
    }
  }
  // Each `rest` operation with a body has a check, which the type of `id` does not tell.
  const check = (bodyChecks as Record<string, Check<unknown>>)[id]!
  const checked = (read: ReadBody): ReadBody => {
    assertValid(check, read.body, { names: read.names })
    return read
  }
  return (request, pieces, hold) => {
    if (form === undefined || !isForm(request))
      return checked(readJson(pieces, hold, requestValuesMax))
    return readForm(request, pieces, form).then(checked)
  }
}

/** Smaller bodies take hardly more memory parsed than what is held for them already. */
const parsedBytesMin = 16_384

/** A parsed body is there three times: as its value, as text for a provider, and as that one's bytes. */
function holdParsed(pieces: Pieces, hold: Hold): void {
  const bytes = piecesLength(pieces)
  const refusal = bytes < parsedBytesMin ? undefined : hold.takeMore(2 * bytes)
  if (refusal !== undefined) throw noRoom(refusal)
}

function readJson(body: Pieces, hold: Hold, valuesMax: number): ReadBody {
  const { pieces, texts } = leaveTexts(body)
  holdParsed(pieces, hold)
  const value = parseBody(joinPieces(pieces), valuesMax, () => joinPieces(body))
  return { body: value, texts, names: ownNames }
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
 * Reads a whole body and unpacks it; what is announced is held before the first byte is read. Throws
 * ClientLeft, `invalid_value` when it cannot be unpacked, `timeout` when it pauses, `overloaded` or
 * `rate_limit_exceeded` when there is no room for it, or (also without Content-Length, and for what
 * it unpacks to) `request_too_large`.
 */
export function readBody(
  request: IncomingMessage,
  hold: Hold,
  { requestBytesMax: bytesMax, requestIdleTimeoutMs: idleTimeoutMs }: BodyLimits,
): Promise<Pieces> {
  const length = request.headers['content-length']
  const announced = Number(length ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  // The client may have disconnected before the listeners below are set.
  if (request.destroyed) throw new ClientLeft()
  const refusal = hold.take(announced)
  if (refusal !== undefined) throw noRoom(refusal)
  const stream = unpacked(request, bytesMax)
  return new Promise((resolve, fail) => {
    const pieces: Buffer[] = []
    let bytes = 0
    let held = announced
    const reject = (error: Error) => {
      unwatch?.()
      pieces.length = 0
      fail(error)
    }
    const stop = (error: Error) => {
      stream.removeAllListeners('data')
      if (stream !== request) stream.destroy()
      reject(error)
    }
    const { socket } = request
    const sender: Peer = {
      moved: () => socket.bytesRead,
      cut: () => stop(paused()),
      idleTimeoutMs,
    }
    const isSmall = length !== undefined && announced < watchedBytesMin
    const unwatch = isSmall ? undefined : hold.watch(sender)
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bytesMax) return stop(tooLarge(bytesMax))
      const more = bytes > held ? hold.take(bytes - held) : undefined
      if (more !== undefined) return stop(noRoom(more))
      held = Math.max(held, bytes)
      pieces.push(piece)
    })
    stream.once('end', () => {
      unwatch?.()
      resolve(bytes < pieces.length * pieceBytesMin ? [joinPieces(pieces)] : pieces)
    })
    if (stream !== request) stream.once('error', (cause) => reject(unpackingError(cause)))
    request.once('error', () => reject(new ClientLeft()))
    request.once('close', () => {
      if (request.complete) return
      if (stream !== request) stream.destroy()
      reject(new ClientLeft())
    })
  })
}

/** Smaller bodies come in one piece, or within the time that any request has. */
const watchedBytesMin = 16_384

function paused(): GatewayError {
  const text = 'The request paused for too long while it was sent. Send it again, without a pause.'
  return new GatewayError('timeout', text, { status: 408 })
}

/** The client closed the connection before the request was complete. */
export class ClientLeft extends Error {
  override name = 'ClientLeft'
}
