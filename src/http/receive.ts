import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Hold } from '../bytes/budget.ts'
import type { Peer } from '../bytes/books.ts'
import { GatewayError, memoryError } from '../core/error.ts'
import { tooLarge, unpacked, unpackingError } from './unpack.ts'

export type BodyLimits = {
  requestBytesMax: number
  requestIdleTimeoutMs?: number
}

/** A client whose network changes is back within seconds; one that has left sends nothing any more. */
const idleTimeoutStandardMs = 30_000

/** What becomes of a body as it arrives. */
export type Sink<T> = {
  /** Takes a piece; the next one waits for the promise. Throws a GatewayError to read no more. */
  take(piece: Buffer): Promise<void> | undefined
  /** What the whole body was. Throws a GatewayError. */
  finish(): Promise<T> | T
}

/**
 * Passes a body on as it arrives, unpacked; what is announced is held before the first byte is read.
 * Throws ClientLeft, `invalid_value` when it cannot be unpacked, `timeout` when it pauses,
 * `overloaded` or `rate_limit_exceeded` when there is no room for it, (also without Content-Length,
 * and for what it unpacks to) `request_too_large`, or what the sink throws.
 */
export function receive<T>(
  request: IncomingMessage,
  hold: Hold,
  {
    requestBytesMax: bytesMax,
    requestIdleTimeoutMs: idleTimeoutMs = idleTimeoutStandardMs,
  }: BodyLimits,
  sink: Sink<T>,
): Promise<T> {
  const length = request.headers['content-length']
  const announced = Number(length ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  // The client may have disconnected before the listeners below are set.
  if (request.destroyed) throw new ClientLeft()
  const refusal = hold.take(announced)
  if (refusal !== undefined) throw memoryError(refusal)
  const stream = unpacked(request, bytesMax)
  return new Promise((resolve, fail) => {
    let bytes = 0
    let held = announced
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
      if (more !== undefined) return stop(memoryError(more))
      held = Math.max(held, bytes)
      pass(piece, stream, sink, stop)
    })
    stream.once('end', () => {
      unwatch?.()
      // Nobody would see it fail once more.
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

/** Smaller bodies come in one piece, or within the time that any request has. */
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
