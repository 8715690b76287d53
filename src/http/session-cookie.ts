import type { IncomingMessage } from 'node:http'

/** Reads and writes the cookie that holds a session. */
export type SessionCookie = {
  /** The session's token; undefined where there is none. */
  read(request: IncomingMessage): string | undefined
  /** The header `set-cookie` that keeps a session for so long. */
  set(token: string, ageSeconds: number): string
  /** The header `set-cookie` that removes it. */
  clear(): string
}

/** No cookie of the gateway's own is longer. */
const valueLengthMax = 200

const plainName = 'gateway_session'
const secureName = `__Host-${plainName}`

/** Whether a request may be that of somebody who is signed in. */
export function presentsSession(request: IncomingMessage): boolean {
  return [plainName, secureName].some((name) => cookieOf(request, name) !== undefined)
}

/**
 * Over https the name begins with `__Host-`: no other host and no plain connection can set it
 * (RFC 6265bis section 4.1.3.2).
 */
export function createSessionCookie(baseUrl: string | undefined): SessionCookie {
  const isSecure = baseUrl?.startsWith('https:') === true
  const name = isSecure ? secureName : plainName
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    read: (request) => cookieOf(request, name),
    set: (token, ageSeconds) => `${name}=${token}; ${attributes}; Max-Age=${ageSeconds}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  }
}

/** A cookie of a request by its name; undefined where there is none, or none of the gateway's. */
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
