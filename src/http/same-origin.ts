import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../core/error.ts'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])
/** The gateway's own page, and what people type into the address bar. */
const ownSites = new Set(['same-origin', 'none'])

/** Whether a request may change something (RFC 9110 section 9.2.1). */
export function isUnsafe({ method = '' }: IncomingMessage): boolean {
  return !safeMethods.has(method)
}

/**
 * Refuses what a page of another origin sends in the name of whoever looks at it. Browsers say where
 * a request comes from, and no page can change that; other programs need not say anything. Throws
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
  // Behind a proxy that speaks TLS the scheme is not known.
  return host !== undefined && URL.parse(origin)?.host === host.toLowerCase()
}
