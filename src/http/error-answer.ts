import type { IncomingMessage } from 'node:http'
import { operations, type ErrorForm, type OperationId } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { isOutcomeUnknown, ProviderFailure } from '../core/failure.ts'
import type { Answer } from './answer.ts'
import { progressHeaders } from './receipt-headers.ts'

type Schemas = components['schemas']

/** Formats an error as clients of a path expect it. */
export type ErrorAnswer = (
  error: GatewayError,
  refused: { request: IncomingMessage; requestId: string },
) => Answer

/**
 * The error for a method that the path does not support; `methods` are supported (RFC 9110 section
 * 15.5.6). A request for a WebSocket is 426: Codex then uses HTTP at once, after 405 it tries six times.
 */
export class MethodNotAllowed extends GatewayError {
  readonly methods: readonly string[]

  constructor({ method, url = '', headers }: IncomingMessage, methods: readonly string[]) {
    const path = url.split('?', 1)[0]!.slice(0, 200)
    const takes = methods.join(', ').toUpperCase()
    const isSocket = headers.upgrade?.toLowerCase() === 'websocket'
    const refused = isSocket ? 'has no WebSocket' : `does not take ${method}`
    const options = isSocket ? { status: 426 } : {}
    super('method_not_allowed', `${path} ${refused}. It takes ${takes}.`, options)
    this.methods = methods
  }
}

/** The answer to an error in the `rest` protocol. */
export function errorAnswer(
  error: GatewayError,
  { requestId }: Pick<Parameters<ErrorAnswer>[1], 'requestId'>,
): Answer {
  const json = errorBody(error, requestId)
  return { status: error.status, headers: errorHeaders(error), json }
}

/** The body of an error in the `rest` protocol (docs/behaviour.md#errors). */
export function errorBody(error: GatewayError, requestId: string): Schemas['ErrorResponse'] {
  const { message, type, param, code } = error
  const { budget } = error.progress
  const body = { message, type, param, code, request_id: requestId }
  return { error: budget === undefined ? body : { ...body, budget } }
}

/** Whether a vendor was paid for the failed call, so that a repeated request would be paid again. */
function wasPaid(error: GatewayError): boolean {
  const { cause, progress } = error
  const isDiscarded = cause instanceof ProviderFailure && cause.kind === 'no_memory'
  const charged = progress.attempts?.some(({ costNanoUsd = 0 }) => costNanoUsd !== 0) === true
  return isDiscarded || charged || isOutcomeUnknown(error)
}

/** Maximum of `Retry-After`; OpenAI's clients ignore a longer one. */
const retryAfterSecondsMax = 60
/** A cached error would outlive its cause. */
const notKept = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** The headers of an error in every protocol: the progress of the call and whether to retry. */
export function errorHeaders(
  error: GatewayError,
  secondsMax = retryAfterSecondsMax,
): Record<string, string> {
  return { ...notKept, ...lateErrorHeaders(error, secondsMax) }
}

/** The headers of an error that may also follow in the last event of a stream. */
export function lateErrorHeaders(
  error: GatewayError,
  secondsMax = retryAfterSecondsMax,
): Record<string, string> {
  const { status, code, retryAfterSeconds = 1 } = error
  const headers = progressHeaders(error.progress)
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  if (code === 'insufficient_scope') headers['www-authenticate'] = `Bearer error="${code}"`
  if (status === 429 || status === 503 || code === 'idempotency_key_in_use') {
    const seconds = Math.min(Math.max(retryAfterSeconds, 1), secondsMax)
    headers['retry-after'] = String(Math.ceil(seconds))
  }
  // OpenAI's clients retry failed requests unless this header forbids it.
  if (wasPaid(error) || status === 402 || code === 'idempotency_key_reused')
    headers['x-should-retry'] = 'false'
  if (error instanceof MethodNotAllowed) headers['allow'] = error.methods.join(', ').toUpperCase()
  // The protocol that is needed instead (RFC 9110 section 15.5.22).
  if (status === 426) Object.assign(headers, { upgrade: 'HTTP/1.1', connection: 'upgrade' })
  return headers
}

/** Anthropic's statuses where they differ: 529 is an overload, and a retired model is not found. */
const statuses: Readonly<Record<number, number>> = { 410: 404, 503: 529 }
/** Anthropic's types by the status of the error (docs/messages.md#errors). */
const types: Readonly<Record<number, Schemas['MessageErrorType']>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  410: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  431: 'request_too_large',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

/** The answer to an error in the form of Anthropic's Messages API. */
export function messageErrorAnswer(
  error: GatewayError,
  { requestId }: Pick<Parameters<ErrorAnswer>[1], 'requestId'>,
): Answer {
  return {
    status: statuses[error.status] ?? error.status,
    headers: { 'request-id': requestId, ...errorHeaders(error) },
    json: messageErrorBody(error, requestId),
  }
}

/** The body of an error in the form of Anthropic's Messages API. */
export function messageErrorBody(
  { message, param, code, status }: GatewayError,
  requestId: string,
): Schemas['MessageErrorResponse'] {
  const type = types[status] ?? 'invalid_request_error'
  // Clients show only the message, so it must name the parameter.
  const isNamed = param === null || message.includes(param) || code === 'context_length_exceeded'
  return {
    type: 'error',
    error: {
      type,
      message: isNamed ? message : `${param}: ${message}`,
      details: { error_code: code, param },
    },
    request_id: requestId,
  }
}

/** Paths of Anthropic's API, also those that the gateway does not have. */
const messagesPlaces = /^\/v1\/messages\//

/** The forms of errors that need no other part of the gateway. */
const own = { rest: errorAnswer, messages: messageErrorAnswer }

const ofOwnForm = operations.filter(({ errorForm }) => errorForm !== 'rest')
const pathsOfOwnForm: ReadonlyMap<string, ErrorForm> = new Map(
  ofOwnForm.flatMap(({ path, alsoAt: more, errorForm }) =>
    [path, ...more].map((one) => [one, errorForm] as const),
  ),
)
/** The prefixes of paths with parameters. */
const startsOfOwnForm = ofOwnForm
  .filter(({ path }) => path.includes('{'))
  .map(({ path, errorForm }) => ({ start: path.split('{', 1)[0]!, errorForm }))

/** Paths where OAuth clients look: also an unknown one there has an error in OAuth's format. */
const oauthPlaces = /^\/(?:oauth\/|\.well-known\/(?:oauth|openid)-)/

/**
 * Finds the error format of a path by its operations in the contract; for an unknown path, `oauth`,
 * `messages` or `rest`. `isForMessages` finds clients of the Messages API, which get its form instead of `rest`.
 */
export function errorAnswersByPath(
  others: Record<Exclude<ErrorForm, keyof typeof own>, ErrorAnswer>,
  isForMessages: (request: IncomingMessage) => boolean,
): (path: string) => ErrorAnswer {
  const rest: ErrorAnswer = (error, refused) =>
    own[isForMessages(refused.request) ? 'messages' : 'rest'](error, refused)
  const answers: Record<ErrorForm, ErrorAnswer> = { ...own, rest, ...others }
  return (path) => {
    const known = pathsOfOwnForm.get(path.replace(/\/$/, ''))
    const began = startsOfOwnForm.find(({ start }) => path.startsWith(start))
    const unknown = messagesPlaces.test(path) ? 'messages' : 'rest'
    const elsewhere = oauthPlaces.test(path) ? 'oauth' : unknown
    return answers[known ?? began?.errorForm ?? elsewhere]
  }
}

/** The form of the errors of an operation that accepts idempotency keys. */
export function errorAnswerOf(id: OperationId): typeof errorAnswer {
  const form = operations.find((operation) => operation.id === id)?.errorForm
  return form === 'messages' ? own.messages : own.rest
}
