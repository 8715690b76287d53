import type Koa from 'koa'
import type { errors, ErrorOut, KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { ArtifactStore } from './artifacts.ts'
import { isLoopback, redirectHostOf } from './pages/client-text.ts'
import { stopPage } from './pages/end-pages.ts'

/**
 * Whether an error may redirect a browser to a client: to a program on the person's machine, or to a host
 * with which a person has connected the client. Clients register themselves, so other redirects would make
 * the gateway an open redirector (RFC 9700 section 4.11.2).
 */
export async function mayReturn(
  store: Pick<ArtifactStore, 'isConnected'>,
  { client_id: id, redirect_uri: address }: { client_id?: unknown; redirect_uri?: unknown },
): Promise<boolean> {
  if (typeof address !== 'string' || !URL.canParse(address)) return false
  return isLoopback(address) || store.isConnected(String(id), redirectHostOf(address))
}

/** Shows an error on a page if `mayReturn` forbids oidc-provider's redirect to the client. */
export function stopErrorRedirects(
  provider: Provider,
  store: Pick<ArtifactStore, 'isConnected'>,
): Koa.Middleware {
  const failures = new WeakMap<object, errors.OIDCProviderError>()
  provider.on('authorization.error', (context, error) => void failures.set(context, error))
  return async (context, next) => {
    await next()
    const failure = failures.get(context)
    if (failure === undefined) return
    // Before it failed, oidc-provider added its members to the context.
    const oidcContext = context as unknown as KoaContextWithOIDC
    if (await mayReturn(store, oidcContext.oidc.params ?? {})) return
    const { error, error_description, statusCode } = failure
    context.remove('location')
    // With `prompt=none` the error has the status of a redirect.
    context.status = Math.max(statusCode, 400)
    await showError(oidcContext, { error, ...(error_description && { error_description }) })
  }
}

/** Shows an error that no redirect reports: as a page, or as JSON of RFC 6749 to programs. */
export async function showError(context: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
  context.set('cache-control', 'no-store')
  context.set('x-content-type-options', 'nosniff')
  if (context.accepts('json', 'html') !== 'html') {
    context.body = out
    return
  }
  const { error, error_description: description = 'no reason was given' } = out
  const { headers = {}, pieces = [] } = stopPage({
    title: 'The connection failed',
    message: messageFor(error, description),
    detail: `${error}: ${description}`,
    status: context.status,
  })
  context.set(headers)
  context.body = pieces.join('')
}

/** The remedy for a person; unknown clients need one of their own, since they repeat a stored id for ever. */
function messageFor(error: string, description: string): string {
  if (error !== 'invalid_client')
    return (
      'The request of the application that sent you here is invalid, or this sign-in has expired. ' +
      'Go back to the application and connect again.'
    )
  return description.includes('metadata document')
    ? 'This gateway could not fetch the document that describes the application. The log of the gateway has ' +
        'the reason. Its operator can let it reach that address, or you can connect with an API key.'
    : 'This gateway does not know the application: its registration is of another gateway, or was removed ' +
        'after weeks without use. Make the application forget its sign-in, and connect again: in Claude ' +
        'Code with `claude mcp logout NAME`, for mcp-remote by deleting the folder ~/.mcp-auth.'
}
