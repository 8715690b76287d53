import type { Answer } from '../../http/answer.ts'
import type { ClientText } from './client-text.ts'
import { markup } from './html.ts'
import { pageAnswer } from './page.ts'

type LeavingPage = { client: ClientText; allowed: boolean; next: string }

/**
 * The page that goes on to the client. A redirect behind a form would be held against `form-action`,
 * each further one of the client's too; and a browser that opens another application stays here.
 */
export function leavingPage({ client, allowed, next }: LeavingPage): Answer {
  const name = markup`<strong><bdi>${client.name}</bdi></strong>`
  const said = allowed
    ? markup`${name} may use models on your account.`
    : markup`${name} has got nothing.`
  const content = markup`<p>${said} You go back to ${client.place}.</p>
<p><a class="button" href="${next}">Go on</a></p>
<div class="foot"><p>When the application has opened, you can close this page.</p></div>`
  return pageAnswer({ title: allowed ? 'Connected' : 'Not connected', content, next })
}

type StopPage = {
  title: string
  /** What is so, and what to do. */
  message: string
  /** The words for who made the application. */
  detail?: string
  status: number
  headers?: Record<string, string>
}

/** A page on which it does not go on. It leads nowhere: no address has been proved. */
export function stopPage({ title, message, detail, status, headers }: StopPage): Answer {
  const more = detail === undefined ? undefined : markup`<pre><code>${detail}</code></pre>\n`
  const content = markup`<p class="alert" role="alert">${message}</p>
${more}<div class="foot"><p>Nothing has been connected. You can close this page.</p></div>`
  return pageAnswer({ title, content, status, ...(headers && { headers }) })
}
