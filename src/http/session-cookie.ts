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

/** No session's token is longer. */
const tokenLengthMax = 200

/**
 * Over https the name begins with `__Host-`: no other host and no plain connection can set it
 * (RFC 6265bis section 4.1.3.2).
 */
export function createSessionCookie(baseUrl: string | undefined): SessionCookie {
  const isSecure = baseUrl?.startsWith('https:') === true
  const name = isSecure ? '__Host-gateway_session' : 'gateway_session'
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    read: ({ headers: { cookie = '' } }) => {
      for (const pair of cookie.split(';')) {
        const at = pair.indexOf('=')
        if (at < 0 || pair.slice(0, at).trim() !== name) continue
        const token = pair.slice(at + 1).trim()
        return token === '' || token.length > tokenLengthMax ? undefined : token
      }
      return undefined
    },
    set: (token, ageSeconds) => `${name}=${token}; ${attributes}; Max-Age=${ageSeconds}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  }
}
