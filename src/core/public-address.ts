import ipaddr from 'ipaddr.js'

/** The allocated part of IPv6; the rest includes deprecated notations of IPv4 addresses. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** Whether an IP address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast)) return false
  return parsed.range() === 'unicast'
}

/**
 * Top-level labels of private networks (RFC 6761, RFC 6762 with appendix G, RFC 8375), and names
 * that routers and clusters commonly use.
 */
const privateLabels = new Set(
  'localhost localdomain local internal intranet private corp home lan svc home.arpa'.split(' '),
)

/** Whether a host name or address is private, decided without a DNS look-up. */
export function isPrivateHost({ hostname }: URL): boolean {
  const host = hostname.replaceAll(/^\[|\]$/g, '')
  if (ipaddr.isValid(host)) return !isPublicAddress(host)
  const labels = host.replace(/\.$/, '').split('.')
  const isSingle = labels.length === 1
  return (
    isSingle || privateLabels.has(labels.at(-1)!) || privateLabels.has(labels.slice(-2).join('.'))
  )
}
