import type { IncomingMessage } from 'node:http'
import type { SecurityScheme } from '../../generated/operations.ts'
import type { Caller, Identify } from '../core/caller.ts'

/**
 * Finds out who calls by one scheme of the contract; undefined when the request has no credentials of
 * that scheme. Throws a GatewayError for credentials that are not good.
 */
export type SecurityHandler = (request: IncomingMessage) => Promise<Caller> | Caller | undefined

/** Which handler reads which scheme: one that is missing does not compile. */
export type SecurityHandlers = Record<SecurityScheme, SecurityHandler> & {
  /** Throws the refusal of a request without any credentials. */
  unauthorized: (request: IncomingMessage) => Promise<Caller> | Caller
}

/** API keys, in either of the headers that the product document names (Authentication). */
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
