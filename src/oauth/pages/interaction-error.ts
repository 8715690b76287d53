import type { GatewayError } from '../../core/error.ts'
import { errorHeaders, type ErrorAnswer } from '../../http/error-answer.ts'
import { stopPage } from './end-pages.ts'

/** The answer to an error on the pages: a page too, which leads nowhere. */
export const interactionErrorAnswer: ErrorAnswer = (error) => {
  const { 'www-authenticate': _, ...headers } = errorHeaders(error)
  const { title, message } = wordsFor(error)
  return stopPage({ title, message, status: error.status === 401 ? 403 : error.status, headers })
}

function wordsFor({ code, status, message }: GatewayError): { title: string; message: string } {
  if (code === 'not_found') return { title: 'This sign-in is over', message }
  if (code === 'csrf_failed') return { title: 'This was not sent from here', message }
  if (status >= 500) return { title: 'This does not work at the moment', message }
  return { title: 'This cannot be taken', message }
}
