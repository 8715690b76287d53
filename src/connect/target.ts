/** What is examined: the address that a person gives to a client. */
export type Target = { endpoint: URL; origin: string; isEncrypted: boolean }

const endpointPath = '/mcp'

/**
 * An address as it is typed; without a path it is that of the tool server there. Undefined where
 * it is no http address, or has a name and a password in it.
 */
export function readTarget(typed: string): Target | undefined {
  const url = URL.parse(typed.includes('://') ? typed : `https://${typed}`)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  if (url.username !== '' || url.password !== '') return undefined
  url.hash = ''
  if (url.pathname === '/') url.pathname = endpointPath
  return { endpoint: url, origin: url.origin, isEncrypted: url.protocol === 'https:' }
}

/** A well-known address of the origin (RFC 8615), for the whole of it or for one path. */
export function wellKnown({ origin }: Target, name: string, path = ''): URL {
  return new URL(`/.well-known/${name}${path}`, origin)
}
