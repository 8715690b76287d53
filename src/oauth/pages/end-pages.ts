import type { GatewayError } from '../../core/error.ts'
import type { Answer } from '../../http/answer.ts'
import { errorHeaders, type ErrorAnswer } from '../../http/error-answer.ts'
import type { ClientText } from './client-text.ts'
import { markup } from './html.ts'
import { pageAnswer } from './page.ts'

type LeavingPage = { client: ClientText; allowed: boolean; next: string }

/**
 * The page after the decision, which continues to the client. A direct redirect fails: browsers apply
 * `form-action` to all redirects after a form. A browser that opens another application stays on this page.
 */
export function leavingPage({ client, allowed, next }: LeavingPage): Answer {
  const name = markup`<strong><bdi>${client.name}</bdi></strong>`
  const said = allowed
    ? markup`${name} may use models on your account.`
    : markup`${name} has no access to your account.`
  const content = markup`<p>${said} You return to ${client.place}.</p>
<p><a class="button" href="${next}">Continue</a></p>
<div class="foot"><p>When the application has opened, you can close this page.</p></div>`
  return pageAnswer({ title: allowed ? 'Connected' : 'Not connected', content, next })
}

type StopPage = {
  title: string
  /** The cause of the error and the remedy. */
  message: string
  /** The error, for the developer of the application. */
  detail?: string
  status: number
  headers?: Record<string, string>
}

/** A page that ends a sign-in. It has no link, since no redirect address has been verified. */
export function stopPage({ title, message, detail, status, headers }: StopPage): Answer {
  const more = detail === undefined ? undefined : markup`<pre><code>${detail}</code></pre>\n`
  const content = markup`<p class="alert" role="alert">${message}</p>
${more}<div class="foot"><p>Nothing was connected. You can close this page.</p></div>`
  return pageAnswer({ title, content, status, ...(headers && { headers }) })
}

/** The answer to an error on the pages: a page without links. */
export const interactionErrorAnswer: ErrorAnswer = (error) => {
  const { 'www-authenticate': _, ...headers } = errorHeaders(error)
  const { title, message } = wordsFor(error)
  return stopPage({ title, message, status: error.status === 401 ? 403 : error.status, headers })
}

function wordsFor({ code, status, message }: GatewayError): { title: string; message: string } {
  if (code === 'not_found') return { title: 'This sign-in has expired', message }
  if (code === 'csrf_failed') return { title: 'This form came from another site', message }
  if (status >= 500) return { title: 'The gateway failed', message }
  return { title: 'This request is invalid', message }
}
