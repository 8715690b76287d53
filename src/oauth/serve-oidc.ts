import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Provider } from 'oidc-provider'
import { cookieNames } from './provider.ts'

type Received = {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
}

export type OidcRequest = {
  method: 'GET' | 'POST'
  /** Path and query. */
  path: string
  body?: { type: string; text: string }
}

/** Passes a request to oidc-provider; resolves when the response is complete. */
export async function serveOidc(
  provider: Provider,
  { request, response, requestId }: Received,
  oidcRequest: OidcRequest,
): Promise<void> {
  response.setHeader('x-request-id', requestId)
  await provider.callback()(requestFor(provider, request, oidcRequest), response)
  if (!response.writableFinished && !response.destroyed) {
    await finished(response).catch(() => undefined)
  }
}

/**
 * A request in the form for oidc-provider: with the issuer's origin instead of its own, with a body that
 * is already read, and without a session of oidc-provider.
 */
export function requestFor(
  { issuer }: Provider,
  { headers, socket, httpVersion, httpVersionMajor, httpVersionMinor }: IncomingMessage,
  { method, path, body }: OidcRequest,
): IncomingMessage {
  const { protocol, host } = new URL(issuer)
  const { accept, origin, authorization } = headers
  const text = body?.text ?? ''
  const seen = Object.assign(Readable.from(text === '' ? [] : [Buffer.from(text)]), {
    method,
    url: path,
    socket,
    httpVersion,
    httpVersionMajor,
    httpVersionMinor,
    headers: {
      host,
      'x-forwarded-proto': protocol.slice(0, -1),
      cookie: cookiesFor(headers.cookie),
      // Only GET requests may get HTML pages: errors of POST requests are JSON (RFC 6749 section 5.2).
      ...(accept !== undefined && method === 'GET' && { accept }),
      ...(origin !== undefined && { origin }),
      ...(authorization !== undefined && { authorization }),
      ...(body !== undefined && {
        'content-type': body.type,
        'content-length': String(Buffer.byteLength(text)),
      }),
    },
  })
  // `seen` has all members that Koa and oidc-provider read.
  return seen as unknown as IncomingMessage
}

/** The cookies of a pending sign-in; oidc-provider's own session is dropped. */
function cookiesFor(header = ''): string {
  const { interaction, resume } = cookieNames
  const kept = new Set([interaction, resume].flatMap((name) => [name, `${name}.sig`]))
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => kept.has(pair.split('=', 1)[0]!))
    .join('; ')
}
