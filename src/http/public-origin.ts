import type { IncomingMessage } from 'node:http'
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
