import type { IncomingMessage } from 'node:http'
import type { SecurityScheme } from '../../generated/operations.ts'
import type { Caller, Identify } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'

/**
 * Identifies the caller by one security scheme of the contract; undefined when the request has no
 * credentials of that scheme. Throws a GatewayError for invalid credentials.
 */
export type SecurityHandler = (request: IncomingMessage) => Promise<Caller> | Caller | undefined

/** A handler for each scheme; a missing one is a compile error. */
export type SecurityHandlers = Record<SecurityScheme, SecurityHandler> & {
  /** Throws the GatewayError for a request without any credentials. */
  unauthorized: (request: IncomingMessage) => Promise<Caller> | Caller
}

/** API keys, as a bearer token or in `x-api-key` (the product document, Authentication). */
export function createSecurity(identify: Identify): SecurityHandlers {
  return {
    bearer: ({ headers: { authorization } }) =>
      authorization === undefined ? undefined : identify({ authorization, apiKey: undefined }),
    apiKey: (request) => {
      const apiKey = header(request, 'x-api-key')
      return apiKey ? identify({ authorization: undefined, apiKey }) : undefined
    },
    unauthorized: (request) => {
      const place = strayKeyOf(request)
      if (place === undefined) return identify({ authorization: undefined, apiKey: undefined })
      throw new GatewayError(
        'missing_api_key',
        `The API key is not read from ${place}. Send it as \`Authorization: Bearer <API_KEY>\` or as \`x-api-key\`.`,
      )
    },
  }
}

const strayHeaders = ['api-key', 'x-goog-api-key', 'apikey', 'x-auth-token', 'proxy-authorization']

/** Where clients of other APIs put a key; undefined if it is in none of these places. */
function strayKeyOf({ headers, url = '' }: IncomingMessage): string | undefined {
  const found = strayHeaders.find((name) => headers[name] !== undefined)
  if (found !== undefined) return `the header '${found}'`
  const name = /[?&](key|api[_-]?key|access_token|token)=/i.exec(url)?.[1]
  return name === undefined ? undefined : `the query parameter '${name}'`
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
