import type { IncomingMessage } from 'node:http'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { isOutcomeUnknown, ProviderFailure } from '../core/failure.ts'
import type { Answer } from './answer.ts'
import { progressHeaders } from './receipt-headers.ts'

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
export function errorBody(
  error: GatewayError,
  requestId: string,
): components['schemas']['ErrorResponse'] {
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
  const { status, code, retryAfterSeconds = 1 } = error
  const headers: Record<string, string> = { ...notKept, ...progressHeaders(error.progress) }
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
