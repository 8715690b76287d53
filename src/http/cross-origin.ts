import type { IncomingMessage, ServerResponse } from 'node:http'

const methods = 'GET, POST, DELETE'
const requestHeaders =
  'authorization, content-type, x-api-key, cache-control, x-gateway-cache-ttl, x-gateway-strict, x-gateway-no-fallback'
const responseHeaders =
  'x-request-id, x-gateway-model, x-gateway-provider, x-gateway-cache, x-gateway-cost-usd, ' +
  'x-gateway-attempts, x-gateway-warnings, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, ' +
  'x-ratelimit-reset-requests, RateLimit, RateLimit-Policy, Retry-After, Deprecation, Sunset, WWW-Authenticate'
const preflightSeconds = '86400'

/**
 * Lets pages of any origin call `/v1`: a key is in the request itself, never in a cookie. Says
 * whether this was only the browser's question beforehand.
 */
export function allowCrossOrigin(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.headers.origin === undefined || !request.url?.startsWith('/v1/')) return false
  response.setHeader('access-control-allow-origin', '*')
  response.setHeader('access-control-expose-headers', responseHeaders)
  const asked = request.headers['access-control-request-method']
  if (request.method !== 'OPTIONS' || asked === undefined) return false
  response.setHeader('access-control-allow-methods', methods)
  // OpenAI's clients add headers of their own, which a wildcard would not cover in every browser.
  const wanted = request.headers['access-control-request-headers']
  response.setHeader('access-control-allow-headers', wanted ?? requestHeaders)
  response.setHeader('access-control-max-age', preflightSeconds)
  return true
}
