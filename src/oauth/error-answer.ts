import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'

/** The error codes of RFC 6749, 7591 and 8707 that the gateway itself returns. */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client_metadata'
  | 'invalid_redirect_uri'
  | 'invalid_scope'
  | 'invalid_target'

/** An error with an OAuth error code; the message names cause and remedy. */
export class OAuthRefusal extends GatewayError {
  readonly oauthCode: OAuthErrorCode

  constructor(oauthCode: OAuthErrorCode, message: string) {
    super('invalid_value', message)
    this.oauthCode = oauthCode
  }
}

/**
 * The errors of the OAuth endpoints (RFC 6749 section 5.2), with the same statuses as other errors. Clients
 * print the text, so it also says how to use an API key.
 */
export const oauthErrorAnswer: ErrorAnswer = (error) => {
  const json: components['schemas']['OAuthError'] = {
    error: codeOf(error),
    error_description: describable(withKeyRemedy(error.message)),
  }
  return { status: error.status, headers: errorHeaders(error, retryAfterSecondsMax), json }
}

/** The longest rate-limit window of these endpoints, for registrations. */
const retryAfterSecondsMax = 3600

function codeOf(error: GatewayError): string {
  if (error instanceof OAuthRefusal) return error.oauthCode
  const { status } = error
  if (status >= 500) return status === 503 ? 'temporarily_unavailable' : 'server_error'
  if (status === 429) return 'temporarily_unavailable'
  // A 401 is about a key or token (RFC 6750); oidc-provider itself answers clients that fail to authenticate.
  if (status === 401) return 'invalid_token'
  return status === 403 ? 'access_denied' : 'invalid_request'
}

/** The description of an error, with the alternative of an API key. */
export function withKeyRemedy(text: string): string {
  if (text.includes(keyRemedy)) return text
  return `${text.replace(/[^.!?]$/, '$&.')} Without OAuth: ${keyRemedy}`
}

/** Replaces characters that an `error_description` may not have (RFC 6749 section 5.2). */
function describable(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replaceAll(/[^ -~]+/g, ' ')
}
