import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Transfer } from '../bytes/memory-ledger.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import { unpackers } from '../bytes/unpackers.ts'
import { GatewayError, assertTaken, memoryError } from '../core/error.ts'

export type BodyLimits = {
  requestBytesMax: number
  requestIdleTimeoutMs: number
}

/** Consumes a body while it arrives. */
export type Sink<T> = {
  /** Takes a piece; the next piece waits for the promise. Throws a GatewayError to stop reading. */
  take(piece: Buffer): Promise<void> | undefined
  /** Returns the result after the last piece. Throws a GatewayError. */
  finish(): Promise<T> | T
}

/**
 * Passes a body to the sink while it arrives, decompressed. The announced length is counted as
 * memory before the first byte is read. Throws ClientLeft; `invalid_value` if it cannot be
 * decompressed; `timeout` if it pauses; `overloaded` or `rate_limit_exceeded` if memory is short;
 * `request_too_large`, also without Content-Length and for decompressed bytes; or the errors of the
 * sink.
 */
export function receive<T>(
  request: IncomingMessage,
  memory: MemoryHold,
  { requestBytesMax: bytesMax, requestIdleTimeoutMs: idleTimeoutMs }: BodyLimits,
  sink: Sink<T>,
): Promise<T> {
  const length = request.headers['content-length']
  const announced = Number(length ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  // The client may have disconnected before the listeners below are set.
  if (request.destroyed) throw new ClientLeft()
  assertTaken(memory.take(announced))
  const stream = unpacked(request, bytesMax)
  return new Promise((resolve, fail) => {
    let bytes = 0
    let counted = announced
    let isRefused = false
    const reject = (error: Error) => {
      isRefused = true
      unwatch?.()
      fail(error)
    }
    const stop = (error: Error) => {
      stream.removeAllListeners('data')
      if (stream === request) request.resume()
      else stream.destroy()
      reject(error)
    }
    const { socket } = request
    const sender: Transfer = {
      moved: () => socket.bytesRead,
      cut: () => stop(paused()),
      idleTimeoutMs,
    }
    const isSmall = length !== undefined && announced < watchedBytesMin
    const unwatch = isSmall ? undefined : memory.watch(sender)
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bytesMax) return stop(tooLarge(bytesMax))
      const more = bytes > counted ? memory.take(bytes - counted) : undefined
      if (more !== undefined) return stop(memoryError(more))
      counted = Math.max(counted, bytes)
      pass(piece, stream, sink, stop)
    })
    stream.once('end', () => {
      unwatch?.()
      // The promise is rejected already.
      if (!isRefused) settle(sink, resolve, fail)
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

/** Smaller bodies arrive in one piece, or within the time limit of every request. */
const watchedBytesMin = 16_384

function pass<T>(
  piece: Buffer,
  stream: Readable,
  sink: Sink<T>,
  stop: (error: Error) => void,
): void {
  try {
    const taken = sink.take(piece)
    if (taken === undefined) return
    stream.pause()
    taken.then(() => stream.resume(), stop)
  } catch (thrown) {
    stop(thrown as Error)
  }
}

function settle<T>(
  sink: Sink<T>,
  resolve: (value: Promise<T> | T) => void,
  fail: (reason: unknown) => void,
): void {
  try {
    resolve(sink.finish())
  } catch (thrown) {
    fail(thrown)
  }
}

function paused(): GatewayError {
  const text = 'The request paused for too long while it was sent. Send it again, without a pause.'
  return new GatewayError('timeout', text, { status: 408 })
}

/** The client closed the connection before the request was complete. */
export class ClientLeft extends Error {
  override name = 'ClientLeft'
}

/** The supported values of Content-Encoding (RFC 9110 section 8.4.1), in lower case. */
const encodingsRead: readonly string[] = ['identity', ...Object.keys(unpackers)]

/**
 * The body of a request, decompressed while it arrives; the request itself if it is not compressed.
 * Ends with a GatewayError if the encoding is wrong or the compressed body is too large.
 */
function unpacked(request: IncomingMessage, bytesMax: number): Readable {
  const { 'content-encoding': encoding } = request.headers
  const create = encoding === undefined ? undefined : unpackers[encoding.toLowerCase()]
  if (create === undefined) return request
  const unpacker = create()
  let bytes = 0
  // Compressed bytes may expand to nothing, so they are counted too.
  request.on('data', ({ length }: Buffer) => {
    bytes += length
    if (bytes > bytesMax) unpacker.destroy(tooLarge(bytesMax))
  })
  return request.pipe(unpacker)
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request is larger than ${bytesMax} bytes. Send less at once.`,
  )
}

function unpackingError(cause: Error): GatewayError {
  if (cause instanceof GatewayError) return cause
  return new GatewayError(
    'invalid_value',
    'The body cannot be decompressed as its Content-Encoding says, or it is truncated. Send it uncompressed.',
    { param: 'content-encoding', cause },
  )
}

const json = 'application/json'

/** Whether the body is a form, as its Content-Type says. */
export function isForm(request: IncomingMessage): boolean {
  return typeOf(request) === 'multipart/form-data'
}

/**
 * Throws `unsupported_media_type` unless the body has one of these types, UTF-8 and a supported
 * encoding. Operations that accept JSON also accept a body without Content-Type.
 */
export function checkMediaType(request: IncomingMessage, types: readonly string[]): void {
  if (isUsual(request, types)) return
  joinSame(request)
  const { 'content-type': contentType = '', 'content-encoding': encoding } = request.headers
  const type = typeOf(request)
  const isTaken = types.includes(type) || (types.includes(json) && mayBeJson.test(type))
  if (!isTaken) throw unsupported('content-type', typeText(type, types))
  if (encoding !== undefined && !encodingsRead.includes(encoding.toLowerCase())) {
    const known = encodingsRead.join(', ')
    throw unsupported(
      'content-encoding',
      `The Content-Encoding '${encoding.slice(0, 100)}' is not supported. Use one of: ${known}.`,
    )
  }
  const charset = /charset="?([^";]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset.trim())) {
    throw unsupported(
      'content-type',
      `The charset '${charset.slice(0, 100)}' is not supported. Send UTF-8.`,
    )
  }
}

function isUsual({ headers }: IncomingMessage, types: readonly string[]): boolean {
  return headers['content-encoding'] === undefined && types.includes(headers['content-type'] ?? '')
}

/** Keeps one of a repeated Content-Type, which Node, proxies and clients join with a comma. */
function joinSame({ headers }: IncomingMessage): void {
  const { 'content-type': header } = headers
  const [first, ...others] = header?.includes(',') ? header.split(/\s*,\s*/) : []
  const isSame = others.length > 0 && others.every((other) => other === first)
  if (isSame) headers['content-type'] = first
}

/** Content types that clients send with JSON by default; also `application/<name>+json`. */
const mayBeJson = /^$|^text\/(?:plain|json)$|^application\/[\w.-]+\+json$/

function typeText(type: string, types: readonly string[]): string {
  const asked = `Send ${types.join(' or ')}.`
  if (type !== 'application/x-www-form-urlencoded') {
    return `The Content-Type '${type.slice(0, 100)}' is not accepted here. ${asked}`
  }
  return `The Content-Type says that the body is a form. ${asked} With curl: -H 'Content-Type: ${json}'.`
}

/** The media type of a request's body, without parameters, in lower case; `''` without one. */
function typeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

function unsupported(param: string, text: string): GatewayError {
  return new GatewayError('unsupported_media_type', text, { param })
}
