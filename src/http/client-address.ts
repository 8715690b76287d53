import type { IncomingMessage } from 'node:http'
import type { BlockList } from 'node:net'
import { holds, networksOf, plainAddress } from '../core/networks.ts'

export type ClientAddress = (request: IncomingMessage) => string | null

/**
 * The client address of a request: the last address in `X-Forwarded-For` that is not a trusted
 * proxy. The header is ignored if the connection does not come from a trusted proxy.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return peerOf
  const trusted = networksOf(trustedProxies)
  return (request) => {
    const peer = peerOf(request)
    if (peer === null || !holds(trusted, peer)) return peer
    return forwarded(request.headers['x-forwarded-for'], trusted, peer)
  }
}

function peerOf({ socket }: IncomingMessage): string | null {
  return plainAddress(socket.remoteAddress ?? '')
}

/** The client address in the header; null if a trusted proxy sends none, for example `unknown`. */
function forwarded(
  header: string | readonly string[] | undefined,
  trusted: BlockList,
  peer: string,
): string | null {
  // Node joins headers of this name with commas.
  const entries = String(header ?? '').split(',')
  let address = peer
  for (const entry of entries.toReversed()) {
    const text = entry.trim()
    if (text === '') continue
    const known = plainAddress(withoutPort(text))
    if (known === null) return null
    address = known
    if (!holds(trusted, address)) break
  }
  return address
}

/** Removes the port that some proxies append: `203.0.113.7:4711`, `[2001:db8::7]:4711`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}
