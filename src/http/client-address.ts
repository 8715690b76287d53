import type { IncomingMessage } from 'node:http'
import type { BlockList } from 'node:net'
import { holds, networksOf, plainAddress } from '../core/networks.ts'

/** The address of who sends a request; null where nobody says it. */
export type ClientAddress = (request: IncomingMessage) => string | null

/**
 * The address of who sends a request: the last in `X-Forwarded-For` that no trusted proxy added.
 * Whoever reaches the gateway without a trusted proxy says nothing of their address with it.
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

/** Null where a trusted proxy names no address, as `unknown`. */
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

/** Some proxies write the port too: `203.0.113.7:4711`, `[2001:db8::7]:4711`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}
