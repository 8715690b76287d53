import type { components } from '../../generated/types.ts'
import type { GatewayError } from '../core/error.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'
import { OAuthRefusal } from './refusal.ts'

/** The errors of the OAuth endpoints (RFC 6749 section 5.2), with the statuses of all others. */
export const oauthErrorAnswer: ErrorAnswer = (error) => {
  const json: components['schemas']['OAuthError'] = {
    error: codeOf(error),
    error_description: describable(error.message),
  }
  return { status: error.status, headers: errorHeaders(error), json }
}

function codeOf(error: GatewayError): string {
  if (error instanceof OAuthRefusal) return error.oauthCode
  const { status } = error
  if (status >= 500) return status === 503 ? 'temporarily_unavailable' : 'server_error'
  if (status === 429) return 'temporarily_unavailable'
  if (status === 401) return 'invalid_client'
  return status === 403 ? 'access_denied' : 'invalid_request'
}

/** A text in the characters that an `error_description` may have. */
export function describable(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^ -~]+/g, ' ')
}
