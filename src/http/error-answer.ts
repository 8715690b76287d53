import type { IncomingMessage } from 'node:http'
import { operations, type Protocol } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { isOutcomeUnknown } from '../core/failure.ts'
import type { Answer } from './answer.ts'
import { progressHeaders } from './receipt-headers.ts'

/** Formats an error in the protocol of a path. */
export type ErrorAnswer = (
  error: GatewayError,
  refused: { request: IncomingMessage; requestId: string },
) => Answer

/**
 * The error for a method that the path does not support; `methods` are supported (RFC 9110 section
 * 15.5.6).
 */
export class MethodNotAllowed extends GatewayError {
  readonly methods: readonly string[]

  constructor({ method, url = '' }: IncomingMessage, methods: readonly string[]) {
    const path = url.split('?', 1)[0]!.slice(0, 200)
    const takes = methods.join(', ').toUpperCase()
    super('method_not_allowed', `${path} does not take ${method}. It takes ${takes}.`)
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
  if (status === 429 || status === 503 || code === 'idempotency_key_in_use') {
    const seconds = Math.min(Math.max(retryAfterSeconds, 1), secondsMax)
    headers['retry-after'] = String(Math.ceil(seconds))
  }
  // OpenAI's clients retry failed requests unless this header forbids it.
  const isFinal = status === 402 || code === 'idempotency_key_reused' || isOutcomeUnknown(error)
  if (isFinal) headers['x-should-retry'] = 'false'
  if (error instanceof MethodNotAllowed) headers['allow'] = error.methods.join(', ').toUpperCase()
  return headers
}

const ofOwnProtocol = operations.filter(({ protocol }) => protocol !== 'rest')
const pathsOfOwnProtocol: ReadonlyMap<string, Protocol> = new Map(
  ofOwnProtocol.flatMap(({ path, alsoAt: more, protocol }) =>
    [path, ...more].map((one) => [one, protocol] as const),
  ),
)
/** The prefixes of paths with parameters. */
const startsOfOwnProtocol = ofOwnProtocol
  .filter(({ path }) => path.includes('{'))
  .map(({ path, protocol }) => ({ start: path.split('{', 1)[0]!, protocol }))

/**
 * Paths at which OAuth clients look; errors there have the OAuth format, also for unknown paths.
 */
const oauthPlaces = /^\/(?:oauth\/|\.well-known\/(?:oauth|openid)-)/

/**
 * Finds the error format of a path by its protocol in the contract; for an unknown path, `oauth` or
 * `rest`.
 */
export function errorAnswersByPath(
  answers: Record<Protocol, ErrorAnswer>,
): (path: string) => ErrorAnswer {
  return (path) => {
    const known = pathsOfOwnProtocol.get(path.replace(/\/$/, ''))
    const began = startsOfOwnProtocol.find(({ start }) => path.startsWith(start))
    const elsewhere = oauthPlaces.test(path) ? 'oauth' : 'rest'
    return answers[known ?? began?.protocol ?? elsewhere]
  }
}
