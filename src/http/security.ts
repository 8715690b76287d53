import type { IncomingMessage } from 'node:http'
import type { Access, SecurityScheme } from '../../generated/operations.ts'
import type { Caller, Identify, PersonCaller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { timingSafeEqualText } from '../bytes/timing-safe-equal.ts'
import { assertSameOrigin, isUnsafe } from './cross-origin.ts'
import type { SessionCookie } from './session-cookie.ts'

/**
 * Identifies the caller by one security scheme of the contract; undefined when the request has no
 * credentials of that scheme. Throws a GatewayError for invalid credentials.
 */
type SecurityHandler = (request: IncomingMessage) => Promise<Caller> | Caller | undefined

/** A handler for each scheme; a missing one is a compile error. */
export type SecurityHandlers = Record<SecurityScheme, SecurityHandler> & {
  /** Throws the GatewayError for a request without credentials; undefined if none are needed. */
  unauthorized: (request: IncomingMessage, access: Access) => Promise<Caller> | Caller | undefined
}

/** Returns the person of a session; rejects with `invalid_session` if it has expired. */
type IdentifySession = (token: string) => Promise<PersonCaller>

type Options = {
  identify: Identify
  identifySession: IdentifySession
  cookie: SessionCookie
  /** The public address of the gateway; undefined to use the address of the request. */
  baseUrl: string | undefined
}

/**
 * API keys, as a bearer token or in `x-api-key` (the product document, Authentication), and the
 * sessions of people.
 */
export function createSecurity(options: Options): SecurityHandlers {
  const { identify } = options
  return {
    bearer: ({ headers: { authorization } }) =>
      authorization === undefined ? undefined : identify({ authorization, apiKey: undefined }),
    apiKey: (request) => {
      const apiKey = header(request, 'x-api-key')
      return apiKey ? identify({ authorization: undefined, apiKey }) : undefined
    },
    session: (request) => {
      const token = options.cookie.read(request)
      return token === undefined ? undefined : signedIn(request, token, options)
    },
    unauthorized: (request, access) => {
      if (access === 'client') return undefined
      if (access === 'public' || access === 'anyone') {
        // Without this check, a foreign page could sign its visitor in to another account.
        if (isUnsafe(request)) assertSameOrigin(request, options.baseUrl)
        return undefined
      }
      if (access === 'person') throw new GatewayError('invalid_session', notSignedIn)
      const place = misplacedKeyOf(request)
      if (place === undefined) return identify({ authorization: undefined, apiKey: undefined })
      throw new GatewayError(
        'missing_api_key',
        `The API key is not read from ${place}. ${keyRemedy}`,
      )
    },
  }
}

const notSignedIn = 'You are not signed in. Sign in with POST /api/sessions.'

async function signedIn(
  request: IncomingMessage,
  token: string,
  { identifySession, baseUrl }: Options,
): Promise<PersonCaller> {
  const changes = isUnsafe(request)
  if (changes) assertSameOrigin(request, baseUrl)
  const caller = await identifySession(token)
  if (changes) assertToken(request, caller.person.csrfToken)
  return caller
}

/** Throws `csrf_failed` unless the request has the CSRF token of the session. */
function assertToken(request: IncomingMessage, expected: string): void {
  if (timingSafeEqualText(header(request, 'x-csrf-token') ?? '', expected)) return
  const text =
    "The header 'x-csrf-token' is missing or wrong. Send the `csrf_token` that signing in and " +
    'GET /api/sessions/current answer.'
  throw new GatewayError('csrf_failed', text, { param: 'x-csrf-token' })
}

const otherApisHeaders = [
  'api-key',
  'x-goog-api-key',
  'apikey',
  'x-auth-token',
  'proxy-authorization',
]

/** The header or query parameter with a key, by the conventions of other APIs. */
function misplacedKeyOf({ headers, url = '' }: IncomingMessage): string | undefined {
  const found = otherApisHeaders.find((name) => headers[name] !== undefined)
  if (found !== undefined) return `the header '${found}'`
  const name = /[?&](key|api[_-]?key|access_token|token)=/i.exec(url)?.[1]
  return name === undefined ? undefined : `the query parameter '${name}'`
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
