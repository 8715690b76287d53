import type { IncomingMessage } from 'node:http'
import { plainAddress } from '../core/networks.ts'

/** Where callers reach the gateway, as `https://gateway.example`, without a slash behind it. */
export type PublicOrigin = (request: IncomingMessage) => string

/**
 * The origin that addresses of the gateway begin with. Without `baseUrl` it is the name of this machine
 * that a request was sent to, else the address that its connection arrived at: what a stranger writes
 * into `Host` is never told to anybody.
 */
export function createPublicOrigin(baseUrl: string | undefined): PublicOrigin {
  if (baseUrl !== undefined) {
    // Without a port that the scheme has anyway, as clients write it.
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
