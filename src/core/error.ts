import type { Refusal } from '../bytes/memory-ledger.ts'
import type { components } from '../../generated/types.ts'
import type { Caller } from './caller.ts'
import type { LimitState } from './limits.ts'

type Schemas = components['schemas']
export type ErrorCode = Schemas['ErrorCode']
type ErrorType = Schemas['ErrorType']

/** The progress of a failed call, for the headers of its error. */
export type Progress = {
  /** The caller's limits after the call, or the limits that refused the call. */
  limits?: readonly LimitState[]
  /** The last tried model, or the requested model when none was tried. */
  model?: Pick<Schemas['CatalogModel'], 'id' | 'deprecated_at' | 'deactivated_at'>
  /** The budget that does not cover the call, in its state before the call. */
  budget?: Schemas['BudgetState']
  /** The tries in order. */
  attempts?: readonly { provider: string; outcome: string; costNanoUsd?: number | null }[]
}

/** The closed table of docs/behaviour.md#errors: a code without a row here does not compile. */
const table: Record<ErrorCode, { status: number; type: ErrorType }> = {
  invalid_json: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  unknown_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_value: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  model_capability_mismatch: { status: 400, type: 'invalid_request_error' },
  content_policy_violation: { status: 400, type: 'invalid_request_error' },
  cassette_mismatch: { status: 400, type: 'invalid_request_error' },
  image_fetch_failed: { status: 400, type: 'invalid_request_error' },
  missing_api_key: { status: 401, type: 'authentication_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  expired_api_key: { status: 401, type: 'authentication_error' },
  invalid_token: { status: 401, type: 'authentication_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  key_not_active: { status: 409, type: 'invalid_request_error' },
  timeout: { status: 504, type: 'timeout_error' },
  model_deactivated: { status: 410, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  provider_error: { status: 502, type: 'upstream_error' },
  all_providers_failed: { status: 502, type: 'upstream_error' },
  overloaded: { status: 503, type: 'overloaded_error' },
  no_provider_configured: { status: 503, type: 'overloaded_error' },
  ip_not_allowed: { status: 403, type: 'permission_error' },
  insufficient_scope: { status: 403, type: 'permission_error' },
  idempotency_key_in_use: { status: 409, type: 'invalid_request_error' },
  idempotency_key_reused: { status: 409, type: 'invalid_request_error' },
  cancelled: { status: 409, type: 'invalid_request_error' },
  invalid_credentials: { status: 401, type: 'authentication_error' },
  invalid_session: { status: 401, type: 'authentication_error' },
  csrf_failed: { status: 403, type: 'permission_error' },
  sign_up_closed: { status: 403, type: 'permission_error' },
  password_sign_in_closed: { status: 403, type: 'permission_error' },
  email_taken: { status: 409, type: 'invalid_request_error' },
  already_member: { status: 409, type: 'invalid_request_error' },
  last_owner: { status: 409, type: 'invalid_request_error' },
  too_many_invitations: { status: 409, type: 'invalid_request_error' },
  provider_key_rejected: { status: 400, type: 'invalid_request_error' },
  insufficient_quota: { status: 402, type: 'billing_error' },
}

type Concerned = Pick<Caller, 'accountId' | 'keyId'>

type Options = {
  param?: string | undefined
  cause?: unknown
  /** Overrides the table: `timeout` is 408 for a slow request, 504 for a slow provider. */
  status?: number
  retryAfterSeconds?: number | undefined
  progress?: Progress
  /** The account and key of a request that is refused although its key is known. */
  concerns?: Concerned | undefined
  /** The message for tool callers, when `message` names HTTP endpoints that they cannot call. */
  toolMessage?: string
}

/** Messages and parameter names may quote the request, so their length is limited. */
const messageLengthMax = 4000
const paramLengthMax = 300

/**
 * An error as the caller sees it: the message names cause and remedy, and contains no secret.
 *
 * @example
 * throw new GatewayError('invalid_value', "'n' is at most 10, not 11. Send less.", { param: 'n' })
 */
export class GatewayError extends Error {
  override name = 'GatewayError'
  readonly code: ErrorCode
  readonly type: ErrorType
  readonly param: string | null
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  readonly progress: Progress
  readonly concerns: Concerned | undefined
  /** The message for tool callers: hints name tools instead of endpoints. */
  readonly toolMessage: string

  constructor(code: ErrorCode, message: string, options: Options = {}) {
    super(shortened(message, messageLengthMax), { cause: options.cause })
    this.code = code
    this.type = table[code].type
    this.param = options.param === undefined ? null : shortened(options.param, paramLengthMax)
    this.status = options.status ?? table[code].status
    this.retryAfterSeconds = options.retryAfterSeconds
    this.progress = options.progress ?? {}
    this.concerns = options.concerns
    this.toolMessage = shortened(options.toolMessage ?? message, messageLengthMax)
  }

  /** A copy with the progress of the call; members that are set already are kept. */
  after(progress: Progress): GatewayError {
    return this.#copy({ progress: { ...progress, ...this.progress } })
  }

  /** A copy that names the refused API key; for signed-in persons the error itself. */
  about({ accountId, keyId, person }: Concerned & Pick<Caller, 'person'>): GatewayError {
    return person === undefined ? this.#copy({ concerns: { accountId, keyId } }) : this
  }

  /** A copy with the parameter under the caller's name for it. */
  named(nameOf: (param: string) => string): GatewayError {
    return this.param === null ? this : this.#copy({ param: nameOf(this.param) })
  }

  #copy(changes: Options): GatewayError {
    const { code, message, cause, status, retryAfterSeconds, progress, toolMessage } = this
    const { concerns } = this
    const param = this.param ?? undefined
    const same = { param, cause, status, retryAfterSeconds, progress, toolMessage, concerns }
    const error = new GatewayError(code, message, { ...same, ...changes })
    if (this.stack !== undefined) error.stack = this.stack
    return error
  }
}

/** A thrown GatewayError with the caller's name for its parameter; any other value unchanged. */
export function withName(thrown: unknown, nameOf: (param: string) => string): unknown {
  return thrown instanceof GatewayError ? thrown.named(nameOf) : thrown
}

/** A GatewayError unchanged; any other value as `internal_error`, which hides its details. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  return new GatewayError('internal_error', 'The gateway failed. The log has the detail.', {
    cause: thrown,
  })
}

const memoryRefusals: Readonly<Record<Refusal, readonly [ErrorCode, string]>> = {
  account: [
    'rate_limit_exceeded',
    "The requests of this account use its share of the gateway's memory. Try again when some have ended.",
  ],
  process: [
    'overloaded',
    'The gateway has no free memory for this request. Try again in a moment.',
  ],
  never: [
    'request_too_large',
    'The request needs more memory than one request may use. Send a smaller request.',
  ],
}

/** The error of a request when no memory can be reserved for it (docs/behaviour.md#memory). */
export function memoryError(refusal: Refusal): GatewayError {
  const [code, text] = memoryRefusals[refusal]
  return new GatewayError(code, text, refusal === 'never' ? {} : { retryAfterSeconds: 1 })
}

/** Throws the error of memory that was refused. */
export function assertTaken(refusal: Refusal | undefined): void {
  if (refusal !== undefined) throw memoryError(refusal)
}

/** Why the store refuses an operation of an OAuth client. */
export type StoreRefusalCode =
  /** An authorization code, or a refresh token after its grace period, was used before. */
  | 'already_used'
  | 'connection_ended'
  /** The limit of registered clients, or of pending sign-ins, is reached. */
  | 'too_many_clients'
  | 'too_many_artifacts'
  /** The account has reached its limit of connections. */
  | 'too_many_connections'

/** A refusal of the store; its message is for people and names a remedy. */
export class StoreRefusal extends Error {
  readonly code: StoreRefusalCode

  constructor(code: StoreRefusalCode, message: string) {
    super(message)
    this.name = 'StoreRefusal'
    this.code = code
  }
}

/** Cuts a text to at most `lengthMax` characters, with a mark when it was longer. */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
}

/** An untrusted text on one line of at most `lengthMax` characters, without control and bidirectional characters. */
export function plainLine(text: string, lengthMax: number): string {
  return shortened(text.replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ').trim(), lengthMax)
}
