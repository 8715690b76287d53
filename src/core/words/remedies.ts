import type { ErrorCode } from '../error.ts'
import type { FailureKind } from '../failure.ts'

/** What to do about each error of the closed table: a code without a sentence here does not compile. */
const remedies: Record<ErrorCode, string> = {
  invalid_json: 'Send valid JSON; the message gives the position of the error.',
  invalid_value: 'Change the parameter that the error names to a valid value.',
  missing_required_parameter: 'Add the parameter that the error names.',
  unknown_parameter: 'Remove the parameter that the error names, or correct its spelling.',
  unsupported_parameter:
    'Remove the parameter that the error names, or choose a model that supports it.',
  unsupported_value: 'Choose a value that this model supports, or another model.',
  context_length_exceeded: 'Shorten the conversation, or choose a model with a longer context.',
  model_capability_mismatch: 'Choose a model that supports the request.',
  content_policy_violation: 'Change the prompt or the picture: the provider refuses it.',
  cassette_mismatch: 'Send the request that the cassette has, or record it again.',
  image_fetch_failed: 'Use a URL that the gateway can reach, or send the picture as a data URL.',
  missing_api_key: 'Send an API key in the Authorization header.',
  invalid_api_key: 'Check that the whole key was copied, or create a new one.',
  expired_api_key: 'Create a new key, or rotate keys before they expire.',
  invalid_token: 'Let the client sign in again.',
  model_not_allowed: 'Choose a model that the key may call, or allow this model for the key.',
  model_not_found: 'Check the name of the model: GET /v1/models lists them.',
  not_found: 'Check the address and the id.',
  method_not_allowed: 'Use a method that the answer lists in Allow.',
  key_not_active: 'Create a new key: this one is revoked or expired.',
  timeout: 'Try again, raise the time limit, or choose a faster model.',
  model_deactivated: 'Choose a newer model: the provider has withdrawn this one.',
  request_too_large: 'Send less at once: fewer or smaller pictures, or a shorter text.',
  unsupported_media_type: 'Send the body in a format that the message lists.',
  rate_limit_exceeded:
    'Wait as long as Retry-After says and try again; ask for a higher limit if this happens often.',
  internal_error: 'Look for the request id in the log of the gateway, and report it.',
  provider_error: 'Try again, or add a fallback model from another provider.',
  all_providers_failed: 'Try again in a moment, or add a fallback model from another provider.',
  overloaded: 'Try again in a moment, with fewer calls at once.',
  no_provider_configured: 'Set the API key of a provider that has this model.',
  ip_not_allowed: 'Call from a network that the key allows, or add this one to the key.',
  insufficient_scope: 'Use a key with the scope in the message.',
  idempotency_key_in_use: 'Wait until the first request with this Idempotency-Key has ended.',
  idempotency_key_reused: 'Use a new Idempotency-Key for each different request.',
  cancelled: 'Send the request again if the images are still needed.',
  invalid_credentials: 'Check the e-mail address and the password.',
  invalid_session: 'Sign in again.',
  csrf_failed: 'Reload the page, and try again.',
  sign_up_closed: 'Ask an owner of an account for an invitation.',
  password_sign_in_closed: 'Sign in with OpenID Connect.',
  email_taken: 'Sign in with this address, or use another one.',
  already_member: 'No action is needed: the person is already in the account.',
  last_owner: 'Make another member an owner first.',
  too_many_invitations: 'Withdraw an unused invitation, or wait until one has expired.',
  provider_key_rejected: 'Check that the whole key was copied, and that it is still valid.',
  insufficient_quota: 'Raise the budget of the account or the key, or wait for its next period.',
}

/** The remedy for an error, as text for people; null for an unknown code. */
export function remedyFor(code: string | null): string | null {
  return code !== null && Object.hasOwn(remedies, code) ? remedies[code as ErrorCode] : null
}

const meanings: Record<FailureKind, string> = {
  unreachable: 'The provider could not be reached, or the connection broke.',
  timeout: 'The provider did not answer in time.',
  overloaded: 'The provider failed, or was overloaded.',
  rate_limited: 'The provider limits the rate of requests.',
  out_of_credit: 'The account at the provider has no credit left.',
  credentials: "The provider refused the gateway's key.",
  not_found: 'The provider does not have this model.',
  malformed: 'The answer of the provider could not be parsed.',
  no_picture: 'The model answered without a picture.',
  rejected: 'The provider refused the request as invalid.',
  context_length: 'The conversation is too long for this model.',
  too_large: 'The request is too large for the provider.',
  content_policy: 'The provider refused the content.',
  no_memory: 'The gateway had no memory left for the answer.',
  busy: 'The queue of image conversions was full.',
  cancelled: 'The call was cancelled before the provider answered.',
}

/** The meaning of a failure kind, as text for people; null for an unknown kind. */
export function meaningOf(kind: string | null): string | null {
  return kind !== null && Object.hasOwn(meanings, kind) ? meanings[kind as FailureKind] : null
}

/** What an operator types before the words of a command: for an installed package, or in a checkout. */
export const gatewayCommand = import.meta.filename.endsWith('.js')
  ? 'npx model-access-gateway'
  : 'npm run -s gateway --'

/**
 * The remedy for a missing or invalid API key. Uses only the characters that RFC 6749 section 5.2 allows
 * in an `error_description`.
 */
export const keyRemedy =
  'Send an API key as `Authorization: Bearer <API_KEY>` or as `x-api-key`. The operator of this gateway ' +
  `creates keys with \`${gatewayCommand} keys create\`; administrators of an account use POST /api/keys.`
