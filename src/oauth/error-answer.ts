import type { components } from '../../generated/types.ts'
import type { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'
import { OAuthRefusal } from './refusal.ts'

/**
 * The errors of the OAuth endpoints (RFC 6749 section 5.2), with the statuses of all others. Who has no
 * browser, or meant an API key, is told of that too: clients print what is here.
 */
export const oauthErrorAnswer: ErrorAnswer = (error) => {
  const json: components['schemas']['OAuthError'] = {
    error: codeOf(error),
    error_description: describable(withKeyRemedy(error.message)),
  }
  return { status: error.status, headers: errorHeaders(error, retryAfterSecondsMax), json }
}

/** The longest window here, which is that of registrations. */
const retryAfterSecondsMax = 3600

function codeOf(error: GatewayError): string {
  if (error instanceof OAuthRefusal) return error.oauthCode
  const { status } = error
  if (status >= 500) return status === 503 ? 'temporarily_unavailable' : 'server_error'
  if (status === 429) return 'temporarily_unavailable'
  // Clients sign in behind oidc-provider; what is refused here is a key or a token (RFC 6750).
  if (status === 401) return 'invalid_token'
  return status === 403 ? 'access_denied' : 'invalid_request'
}

/** A description of an error with the way that there is without OAuth. */
export function withKeyRemedy(text: string): string {
  if (text.includes(keyRemedy)) return text
  return `${text.replace(/[^.!?]$/, '$&.')} Without OAuth: ${keyRemedy}`
}

/** A text in the characters that an `error_description` may have. */
function describable(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^ -~]+/g, ' ')
}
