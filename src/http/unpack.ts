import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { unpackers } from '../bytes/unpackers.ts'
import { GatewayError } from '../core/error.ts'

/** The values of Content-Encoding that are read (RFC 9110 section 8.4.1), in lower case. */
export const encodingsRead: readonly string[] = ['identity', ...Object.keys(unpackers)]

/**
 * The body of a request, unpacked as it arrives; the request itself when it is plain. Ends with a
 * GatewayError when the body is not packed as it says, or is too large before it is unpacked.
 */
export function unpacked(request: IncomingMessage, bytesMax: number): Readable {
  const { 'content-encoding': encoding } = request.headers
  const create = encoding === undefined ? undefined : unpackers[encoding.toLowerCase()]
  if (create === undefined) return request
  const unpacker = create()
  let bytes = 0
  // Some of what arrives may unpack to nothing, so that it is counted too.
  request.on('data', ({ length }: Buffer) => {
    bytes += length
    if (bytes > bytesMax) unpacker.destroy(tooLarge(bytesMax))
  })
  return request.pipe(unpacker)
}

/** The error of a body that is larger than a request may be. */
export function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request is larger than ${bytesMax} bytes. Send less at once.`,
  )
}

/** The error that ended an unpacked body, as the caller is told of it. */
export function unpackingError(cause: Error): GatewayError {
  if (cause instanceof GatewayError) return cause
  return new GatewayError(
    'invalid_value',
    'The body is not packed as its Content-Encoding says, or it is cut off. Send it plain.',
    { param: 'content-encoding', cause },
  )
}
