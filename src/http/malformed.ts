import { STATUS_CODES } from 'node:http'
import { GatewayError } from '../core/error.ts'
import { errorBody, errorHeaders } from './error-answer.ts'

/** What Node's HTTP parser tells of bytes that it rejects. */
export type ParseError = NodeJS.ErrnoException & {
  rawPacket?: Buffer
  bytesParsed?: number
}

/** The error for what Node's HTTP parser rejects, or for a request that took too long. */
export function malformedError(cause: ParseError): GatewayError {
  const { code = '' } = cause
  if (code === 'HPE_HEADER_OVERFLOW')
    return new GatewayError(
      'request_too_large',
      'The address or the headers are too large. Send fewer.',
      { status: 431 },
    )
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return new GatewayError('request_too_large', 'The chunks of the body have long extensions.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new GatewayError('timeout', 'The request took too long to arrive.', { status: 408 })
  const line = faultyLine(cause)
  if (line.charCodeAt(0) === tlsHandshake)
    return new GatewayError('invalid_value', 'This port speaks HTTP without TLS. Use http://.')
  if (code === 'HPE_INVALID_VERSION' || cause.rawPacket?.indexOf('PRI * HTTP/2') === 0)
    return new GatewayError('invalid_value', 'The gateway speaks HTTP/1.1.', { status: 505 })
  if (code === 'HPE_INVALID_METHOD' && /^[A-Za-z-]{1,40} \S+ HTTP\/1\.[01]\r?\n/.test(line))
    return new GatewayError('method_not_allowed', 'There is no such method.', { status: 501 })
  return new GatewayError('invalid_value', 'This is not an HTTP request.')
}

/** The first byte of a TLS connection (RFC 8446 section 5.1). */
const tlsHandshake = 0x16

/** The beginning of the line that the parser rejects, which others may stand before. */
function faultyLine({ rawPacket, bytesParsed = 0 }: ParseError): string {
  if (rawPacket === undefined) return ''
  const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf(0x0a, bytesParsed - 1) + 1
  return rawPacket.toString('latin1', start, start + 2048)
}

/** An error as the bytes of an answer, for a connection on which Node can give none. */
export function printAnswer(error: GatewayError, requestId: string): string {
  const body = JSON.stringify(errorBody(error, requestId))
  const headers = {
    'x-request-id': requestId,
    ...errorHeaders(error),
    connection: 'close',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}
