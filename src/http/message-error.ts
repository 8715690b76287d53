import type { components } from '../../generated/types.ts'
import type { GatewayError } from '../core/error.ts'
import type { Answer } from './answer.ts'
import { errorHeaders, type ErrorAnswer } from './error-answer.ts'

type Schemas = components['schemas']
type Type = Schemas['MessageErrorType']

/** Anthropic's statuses where they differ: 529 is an overload, and a retired model is not found. */
const statuses: Readonly<Record<number, number>> = { 410: 404, 503: 529 }
/** Anthropic's types by the status of the error (docs/messages.md#errors). */
const types: Readonly<Record<number, Type>> = {
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
