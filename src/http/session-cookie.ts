import type { IncomingMessage } from 'node:http'

export type SessionCookie = ReturnType<typeof createSessionCookie>

/** Maximum length of a cookie's value; the gateway's cookies are shorter. */
const valueLengthMax = 200

const plainName = 'gateway_session'
const secureName = `__Host-${plainName}`

/** Whether the request has a session cookie, valid or not. */
export function presentsSession(request: IncomingMessage): boolean {
  return [plainName, secureName].some((name) => cookieOf(request, name) !== undefined)
}

/**
 * With https the name begins with `__Host-`, so that no other host and no plain connection can set
 * it (RFC 6265bis section 4.1.3.2).
 */
export function createSessionCookie(baseUrl: string | undefined) {
  const isSecure = baseUrl?.startsWith('https:') === true
  const name = isSecure ? secureName : plainName
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    read: (request: IncomingMessage) => cookieOf(request, name),
    set: (token: string, ageSeconds: number) =>
      `${name}=${token}; ${attributes}; Max-Age=${ageSeconds}`,
    /** The `set-cookie` header that removes the session. */
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  }
}

/** A cookie by name; undefined if it is missing or cannot be one of the gateway. */
export function cookieOf(
  { headers: { cookie = '' } }: IncomingMessage,
  name: string,
): string | undefined {
  for (const pair of cookie.split(';')) {
    const at = pair.indexOf('=')
    if (at < 0 || pair.slice(0, at).trim() !== name) continue
    const value = pair.slice(at + 1).trim()
    return value === '' || value.length > valueLengthMax ? undefined : value
  }
  return undefined
}
