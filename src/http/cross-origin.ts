import type { IncomingMessage, ServerResponse } from 'node:http'
import { contractMethods, requestHeaders, responseHeaders } from '../../generated/operations.ts'

const methods = contractMethods.join(', ')
const asked = requestHeaders.join(', ')
const exposed = responseHeaders.join(', ')
const preflightSeconds = '86400'

/**
 * Lets a page of another origin read an answer, where it may. Says whether this was only the
 * browser's question beforehand.
 */
export type AllowCrossOrigin = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * What `access-control-allow-origin` says for an origin, by the beginning of a path; undefined keeps
 * its pages out. A key is in the request itself, never in a cookie.
 */
export type CrossOriginRules = Readonly<Record<string, (origin: string) => string | undefined>>

/** Rules by the beginning of a path; what no rule names is for the gateway's own pages. */
export function createCrossOrigin(rules: CrossOriginRules): AllowCrossOrigin {
  const list = Object.entries(rules)
  return (request, response) => {
    const { origin } = request.headers
    if (origin === undefined) return false
    const [, rule] = list.find(([start]) => request.url?.startsWith(start)) ?? []
    const allowed = rule?.(origin)
    return allowed !== undefined && allow(allowed, request, response)
  }
}

function allow(allowed: string, request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', allowed)
  if (allowed !== '*') response.setHeader('vary', 'Origin')
  response.setHeader('access-control-expose-headers', exposed)
  const method = request.headers['access-control-request-method']
  if (request.method !== 'OPTIONS' || method === undefined) return false
  response.setHeader('access-control-allow-methods', methods)
  // OpenAI's clients add headers of their own, which a wildcard would not cover in every browser.
  const wanted = request.headers['access-control-request-headers']
  response.setHeader('access-control-allow-headers', wanted ?? asked)
  response.setHeader('access-control-max-age', preflightSeconds)
  return true
}
