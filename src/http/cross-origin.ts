import type { IncomingMessage, ServerResponse } from 'node:http'
import { contractMethods, requestHeaders, responseHeaders } from '../../generated/operations.ts'
import { GatewayError } from '../core/error.ts'

const methods = contractMethods.join(', ')
const contractHeaders = requestHeaders.join(', ')
const exposed = responseHeaders.join(', ')
const preflightSeconds = '86400'
/** A list of header names (RFC 9110 section 5.6.2), at most as long as browsers send. */
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,2000}$/

/** Sets the CORS headers of an allowed origin. Returns true for a preflight, which is answered. */
export type AllowCrossOrigin = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * The value of `access-control-allow-origin` by path prefix; undefined refuses the origin. `*` is
 * safe because API keys are never sent as cookies.
 */
type CrossOriginRules = Readonly<Record<string, (origin: string) => string | undefined>>

/** Applies the first rule whose prefix matches; other paths get no CORS headers. */
export function createCrossOrigin(rules: CrossOriginRules): AllowCrossOrigin {
  const list = Object.entries(rules)
  return (request, response) => {
    const { origin } = request.headers
    if (origin === undefined) return false
    const [, rule] = list.find(([start]) => request.url?.startsWith(start)) ?? []
    const allowed = rule?.(origin)
    return allowed !== undefined && allow(allowed, request, response)
  }
}

function allow(allowed: string, request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', allowed)
  if (allowed !== '*') response.setHeader('vary', 'Origin')
  response.setHeader('access-control-expose-headers', exposed)
  const method = request.headers['access-control-request-method']
  if (request.method !== 'OPTIONS' || method === undefined) return false
  response.setHeader('access-control-allow-methods', methods)
  // The requested headers are echoed: OpenAI's clients add their own, and some browsers do not
  // support a wildcard.
  const wanted = request.headers['access-control-request-headers'] ?? contractHeaders
  const allowedHeaders = headerNames.test(wanted) ? wanted : contractHeaders
  response.setHeader('access-control-allow-headers', allowedHeaders)
  response.setHeader('access-control-max-age', preflightSeconds)
  return true
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Values of `sec-fetch-site` for requests of the gateway's own pages and of the address bar. */
const ownSites = new Set(['same-origin', 'none'])

/** Whether a request may change something (RFC 9110 section 9.2.1). */
export function isUnsafe({ method = '' }: IncomingMessage): boolean {
  return !safeMethods.has(method)
}

/**
 * Refuses requests that pages of another origin send with the cookies of their visitor. Browsers report
 * the origin in headers that no page can change; other programs may omit the headers. Throws
 * `csrf_failed`.
 */
export function assertSameOrigin(request: IncomingMessage, baseUrl: string | undefined): void {
  const { origin, 'sec-fetch-site': site, host } = request.headers
  if (site !== undefined ? ownSites.has(site) : isOwn(origin, baseUrl, host)) return
  const text =
    'This request comes from a page of another origin. Only pages of the gateway itself may send it; ' +
    'set BASE_URL to the address that browsers show.'
  throw new GatewayError('csrf_failed', text)
}

function isOwn(
  origin: string | undefined,
  baseUrl: string | undefined,
  host: string | undefined,
): boolean {
  if (origin === undefined) return true
  if (baseUrl !== undefined && origin === URL.parse(baseUrl)?.origin) return true
  // Compares only the hosts: if a proxy terminates TLS, the gateway does not know the scheme.
  return host !== undefined && URL.parse(origin)?.host === host.toLowerCase()
}
