import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { keyRemedy } from '../core/words/remedies.ts'
import { errorHeaders, type ErrorAnswer } from '../http/error-answer.ts'

/** The codes of RFC 6749, 7591 and 8707 that the gateway itself answers with. */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client_metadata'
  | 'invalid_redirect_uri'
  | 'invalid_scope'
  | 'invalid_target'

/** A refusal with a code of OAuth; the message names cause and remedy. */
export class OAuthRefusal extends GatewayError {
  readonly oauthCode: OAuthErrorCode

  constructor(oauthCode: OAuthErrorCode, message: string) {
    super('invalid_value', message)
    this.oauthCode = oauthCode
  }
}

/**
 * The errors of the OAuth endpoints (RFC 6749 section 5.2), with the statuses of all other errors. The text
 * also says how to use an API key, since clients print it.
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
  // oidc-provider answers clients that fail to sign in; a 401 here is about a key or token (RFC 6750).
  if (status === 401) return 'invalid_token'
  return status === 403 ? 'access_denied' : 'invalid_request'
}

/** The description of an error, with the alternative of an API key. */
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
