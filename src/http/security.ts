import type { IncomingMessage } from 'node:http'
import type { SecurityScheme } from '../../generated/operations.ts'
import type { Caller, Identify } from '../core/caller.ts'

/**
 * Identifies the caller by one security scheme of the contract; undefined when the request has no
 * credentials of that scheme. Throws a GatewayError for invalid credentials.
 */
type SecurityHandler = (request: IncomingMessage) => Promise<Caller> | Caller | undefined

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
    unauthorized: () => identify({ authorization: undefined, apiKey: undefined }),
  }
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
