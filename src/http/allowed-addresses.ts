import type { IncomingMessage } from 'node:http'
import type { BlockList } from 'node:net'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { holds, networksOf } from '../core/networks.ts'
import type { ClientAddress } from './client-address.ts'

/**
 * Gives a caller back whose key may be used from where the request comes. Throws `ip_not_allowed`.
 */
export function createAddressCheck(addressOf: ClientAddress) {
  return (caller: Caller, request: IncomingMessage): Caller => {
    if (caller.networks === null) return caller
    const address = addressOf(request)
    if (address !== null && holds(allowedOf(caller.networks), address)) return caller
    throw new GatewayError(
      'ip_not_allowed',
      `This API key may not be used from ${address ?? 'an unknown address'}. Call from one of its allowed addresses, or use another key. If that is a proxy's address, its operator names it in 'trusted_proxies'.`,
    ).about(caller)
  }
}

/** A list lives as long as its caller. */
const known = new WeakMap<readonly string[], BlockList>()

function allowedOf(networks: readonly string[]): BlockList {
  let allowed = known.get(networks)
  if (allowed === undefined) known.set(networks, (allowed = networksOf(networks)))
  return allowed
}
