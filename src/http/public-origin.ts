import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { GatewayError } from '../core/error.ts'
import { plainAddress } from '../core/networks.ts'

/** The public origin of the gateway without a trailing slash, such as `https://gateway.example`. */
export type PublicOrigin = (request: IncomingMessage) => string

/**
 * The origin for the gateway's own addresses: the origin of `baseUrl`. Without `baseUrl`, the loopback
 * name in the request, or else the local address of the connection: an arbitrary `Host` is never
 * reflected.
 */
export function createPublicOrigin(baseUrl: string | undefined): PublicOrigin {
  if (baseUrl !== undefined) {
    // `origin` omits the default port, as clients do.
    const { origin } = new URL(baseUrl)
    return () => origin
  }
  return ({ headers: { host = '' }, socket: { localAddress = '', localPort } }) => {
    if (loopbackHost.test(host)) return `http://${host.toLowerCase()}`
    const address = plainAddress(localAddress) ?? 'localhost'
    return `http://${address.includes(':') ? `[${address}]` : address}:${localPort}`
  }
}

const loopbackHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

/**
 * The public origin and its host, for a request that uses a passkey (WebAuthn). Throws `invalid_value` if the page has
 * another origin, or browsers allow no passkeys there.
 */
export function passkeySiteOf(publicOrigin: PublicOrigin, request: IncomingMessage) {
  const origin = publicOrigin(request)
  const { hostname: rpId, protocol } = new URL(origin)
  const isLocal = /(?:^|\.)localhost$/.test(rpId)
  // Browsers take no address for an RP ID, not even a loopback one.
  const isUsable = isLocal || (protocol === 'https:' && isIP(rpId.replace(/[[\]]/g, '')) === 0)
  // Browsers state the origin; other programs have no page.
  const { origin: page } = request.headers
  if (page === undefined || (isUsable && page === origin)) return { origin, rpId }
  const text = isUsable
    ? `This page is at ${page}, but passkeys of this gateway work only at ${origin}. Open the dashboard there.`
    : `Passkeys do not work at ${origin}: they need a host name with https, or localhost. Open the dashboard at such an address; an operator sets it as BASE_URL.`
  throw new GatewayError('invalid_value', text)
}
