import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { stopPage } from './pages/end-pages.ts'

/**
 * Shows an error that may not be told to the client's address, because that is not proved: a page
 * for people, the words of RFC 6749 for programs. It leads nowhere.
 */
export async function showError(context: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
  context.set('cache-control', 'no-store')
  context.set('x-content-type-options', 'nosniff')
  if (context.accepts('json', 'html') !== 'html') {
    context.body = out
    return
  }
  const { error, error_description: description = 'no reason is known' } = out
  const { headers = {}, pieces = [] } = stopPage({
    title: 'The connection failed',
    message:
      'The application that sent you here asked for something that cannot be given, or this ' +
      'sign-in is over. Go back to it, and connect it once more.',
    detail: `${error}: ${description}`,
    status: context.status,
  })
  context.set(headers)
  context.body = pieces.join('')
}
