import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../core/error.ts'

/** Node silently drops headers above a limit of its own. Browsers and proxies send a few dozen. */
const headersMax = 256

/**
 * Returns an error for a request that Node's parser accepts but HTTP forbids, or that the gateway
 * does not support. An absolute-form target becomes its path (RFC 9112 section 3.2.2).
 */
export function checkRequest(request: IncomingMessage): GatewayError | undefined {
  const { rawHeaders, httpVersionMinor, httpVersionMajor, headers } = request
  if (httpVersionMajor !== 1) return refused('The gateway supports only HTTP/1.1.', { status: 505 })
  if (rawHeaders.length > 2 * headersMax)
    return new GatewayError(
      'request_too_large',
      `There are more than ${headersMax} headers. Send fewer.`,
      { status: 431 },
    )
  const hosts = countHosts(rawHeaders)
  if (hosts > 1) return refused("The header 'host' is given twice.", { param: 'host' })
  if (httpVersionMinor === 1) {
    if (hosts === 0) return refused("The header 'host' is missing.", { param: 'host' })
    const { expect } = headers
    if (expect !== undefined && !/^100-continue$/i.test(expect))
      return refused("The header 'expect' accepts only '100-continue'.", {
        param: 'expect',
        status: 417,
      })
  }
  if (headers.host !== undefined && /[^\w.~:[\]%!$&'()*+,;=-]/.test(headers.host))
    return refused("The header 'host' is not a host name or address.", { param: 'host' })
  return (
    checkCredentials(request) ??
    checkEncoding(request) ??
    (isServerWide(request) ? undefined : checkAddress(request))
  )
}

/** Whether this is `OPTIONS *`, which asks about the server as a whole (RFC 9110 section 9.3.7). */
export function isServerWide({ method, url }: IncomingMessage): boolean {
  return url === '*' && method === 'OPTIONS'
}

function refused(message: string, options: { param?: string; status?: number } = {}): GatewayError {
  return new GatewayError('invalid_value', message, options)
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/**
 * Refuses two different credentials: a proxy may check one and the gateway the other. A repeated
 * identical credential is accepted.
 */
function checkCredentials(request: IncomingMessage): GatewayError | undefined {
  const { rawHeaders } = request
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    // Compares the length and first letter first, so that usual requests need no lower-case copies.
    const { length } = rawHeaders[at]!
    const letter = length === 13 ? 'a' : length === 9 ? 'x' : ''
    if (letter !== '' && (rawHeaders[at]!.charCodeAt(0) | 32) === letter.charCodeAt(0)) count++
  }
  return count < 2 ? undefined : joinCredentials(request)
}

function joinCredentials({ rawHeaders, headers }: IncomingMessage): GatewayError | undefined {
  const keys = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    const key = rawHeaders[at + 1]!.replace(/^bearer(?: +|$)/i, '')
    const isApiKey = name === 'x-api-key' && key !== ''
    // Clients with an unset token send `Bearer ` beside the other header.
    if (name === 'authorization' && key === '') delete headers.authorization
    if ((name === 'authorization' && key !== '') || isApiKey) keys.add(key)
    // Replaces the value that Node joined from repeated headers.
    if (isApiKey) headers[name] = key
  }
  return keys.size < 2 ? undefined : refused(differentCredentials, { param: 'authorization' })
}

const differentCredentials =
  "The headers carry different credentials. Send one, as 'authorization' or as 'x-api-key'."

/** Refuses transfer codings other than `chunked`: the coded bytes would be read as the body itself. */
function checkEncoding({ headers, httpVersionMinor }: IncomingMessage): GatewayError | undefined {
  const { 'transfer-encoding': coding } = headers
  if (coding === undefined) return undefined
  const param = 'transfer-encoding'
  if (httpVersionMinor === 0) return refused(`HTTP/1.0 has no '${param}'.`, { param })
  if (coding.trim().toLowerCase() === 'chunked') return undefined
  return refused(`The header '${param}' accepts only 'chunked'.`, { param, status: 501 })
}

function checkAddress(request: IncomingMessage): GatewayError | undefined {
  const { url = '' } = request
  if (url.startsWith('/')) return undefined
  if (!/^https?:\/\/[^/?#]/i.test(url) || !URL.canParse(url))
    return refused('The address of the request is neither a path nor a URL.')
  const rest = url.replace(/^\w+:\/\/[^/?#]+/, '')
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  return undefined
}

export type ParseError = NodeJS.ErrnoException & {
  rawPacket?: Buffer
  bytesParsed?: number
}

/** The error of bytes that Node's parser rejects, or of a request that arrived too slowly. */
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
    return new GatewayError('invalid_value', 'The gateway supports only HTTP/1.1.', { status: 505 })
  if (code === 'HPE_INVALID_METHOD' && /^[A-Za-z-]{1,40} \S+ HTTP\/1\.[01]\r?\n/.test(line))
    return new GatewayError('method_not_allowed', 'Unknown HTTP method.', { status: 501 })
  return new GatewayError('invalid_value', 'This is not an HTTP request.')
}

/** The first byte of a TLS connection (RFC 8446 section 5.1). */
const tlsHandshake = 0x16

/** The beginning of the line that the parser rejected. */
function faultyLine({ rawPacket, bytesParsed = 0 }: ParseError): string {
  if (rawPacket === undefined) return ''
  const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf(0x0a, bytesParsed - 1) + 1
  return rawPacket.toString('latin1', start, start + 2048)
}
