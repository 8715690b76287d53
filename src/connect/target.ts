/** The checked address, which people give to clients. */
export type Target = { endpoint: URL; origin: string; isEncrypted: boolean }

const endpointPath = '/mcp'

/** Parses an address, by default `https` and `/mcp`; undefined if not http or with credentials. */
export function readTarget(typed: string): Target | undefined {
  const url = URL.parse(typed.includes('://') ? typed : `https://${typed}`)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  if (url.username !== '' || url.password !== '') return undefined
  url.hash = ''
  if (url.pathname === '/') url.pathname = endpointPath
  return { endpoint: url, origin: url.origin, isEncrypted: url.protocol === 'https:' }
}

/** A well-known address of the origin (RFC 8615), for the origin or for one path. */
export function wellKnown({ origin }: Target, name: string, path = ''): URL {
  return new URL(`/.well-known/${name}${path}`, origin)
}
