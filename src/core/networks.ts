import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A set of addresses that share their first bits. */
type Network = { address: string; family: 'ipv4' | 'ipv6'; prefixBits: number }

const mapped = '::ffff:'
/** The bits before the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2). */
const mappedBits = 96

/**
 * Normalizes an IP address: IPv6 in lower case and shortened, without a zone, and an IPv4-mapped IPv6
 * address as IPv4. Null for other texts.
 */
export function plainAddress(text: string): string | null {
  const [address = ''] = text.split('%', 1)
  const version = isIP(address)
  if (version === 4) return address
  if (version === 0) return null
  const plain = new SocketAddress({ address, family: 'ipv6' }).address
  return plain.startsWith(mapped) && plain.includes('.') ? plain.slice(mapped.length) : plain
}

/**
 * The key for limits per address: an IPv4 address, or the /64 network of an IPv6 address, since one client
 * usually controls all of it. Empty when the address is unknown.
 */
export function originOf(address: string | null): string {
  const plain = plainAddress(address ?? '') ?? ''
  if (!isIPv6(plain)) return plain
  const groups = ipaddr.IPv6.parse(plain).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

/**
 * Parses a network as CIDR (RFC 4632), such as `10.0.0.0/8` or `2001:db8::/32`, or a single address.
 * Undefined for other texts.
 */
export function readNetwork(text: string): Network | undefined {
  const [, notation = '', bits] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = plainAddress(notation)
  if (address === null) return undefined
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
  const width = family === 'ipv4' ? 32 : 128
  const isMapped = family === 'ipv4' && notation.includes(':')
  const prefixBits = bits === undefined ? width : Number(bits) - (isMapped ? mappedBits : 0)
  if (prefixBits > width) return undefined
  if (prefixBits >= 0) return { address, family, prefixBits }
  return { address: mapped + address, family: 'ipv6', prefixBits: prefixBits + mappedBits }
}

/** A list of networks to match addresses with. Throws for a text that `readNetwork` cannot parse. */
export function networksOf(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const network = readNetwork(text)
    if (network === undefined) throw new Error(`No network: ${text}`)
    list.addSubnet(network.address, network.prefixBits, network.family)
  }
  return list
}

/** Whether a normalized address is in one of the networks. */
export function holds(networks: BlockList, address: string): boolean {
  return networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

/** Whether each address of the inner network is in the outer network; the texts are as for `readNetwork`. */
export function isWithin(inner: string, outer: string): boolean {
  const [one, other] = [readNetwork(inner), readNetwork(outer)]
  if (one === undefined || other === undefined) return false
  return bitsOf(one) >= bitsOf(other) && holds(networksOf([outer]), one.address)
}

/** The prefix length; for an IPv4 network the length as an IPv4-mapped IPv6 network. */
function bitsOf({ family, prefixBits }: Network): number {
  return family === 'ipv4' ? prefixBits + mappedBits : prefixBits
}
