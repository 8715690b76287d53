import { GatewayError, type ErrorCode } from './error.ts'

/**
 * What an upstream can do to us, whether the next route may be tried, and what the caller is told
 * when no route is left (providers.md section 0.3).
 */
const kinds = {
  unreachable: { mayTryNext: true, code: 'provider_error' },
  timeout: { mayTryNext: true, code: 'timeout' },
  overloaded: { mayTryNext: true, code: 'provider_error' },
  rate_limited: { mayTryNext: true, code: 'rate_limit_exceeded' },
  out_of_credit: { mayTryNext: true, code: 'provider_error' },
  credentials: { mayTryNext: true, code: 'provider_error' },
  not_found: { mayTryNext: true, code: 'model_not_found' },
  malformed: { mayTryNext: true, code: 'provider_error' },
  rejected: { mayTryNext: false, code: 'invalid_value' },
  too_large: { mayTryNext: false, code: 'request_too_large' },
  content_policy: { mayTryNext: false, code: 'content_policy_violation' },
  cancelled: { mayTryNext: false, code: 'timeout' },
} as const satisfies Record<string, { mayTryNext: boolean; code: ErrorCode }>

export type FailureKind = keyof typeof kinds

type Options = {
  cause?: unknown
  param?: string | undefined
  retryAfterSeconds?: number | undefined
  status?: number
}

/** What an upstream did to us. The message may be shown to the caller when the fault is theirs. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure'
  readonly kind: FailureKind
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** The upstream's HTTP status, where there was one. */
  readonly status: number | undefined

  constructor(kind: FailureKind, message: string, options: Options = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.param = options.param
    this.retryAfterSeconds = options.retryAfterSeconds
    this.status = options.status
  }

  get mayTryNext(): boolean {
    return kinds[this.kind].mayTryNext
  }
}

/** The caller's error after the last of `routesTried` routes failed so. */
export function errorAfter(failure: ProviderFailure, routesTried: number): GatewayError {
  const { code } = kinds[failure.kind]
  const options = { cause: failure, param: failure.param }
  switch (code) {
    case 'provider_error':
      return routesTried > 1
        ? new GatewayError(
            'all_providers_failed',
            `All ${routesTried} providers of this model failed. Try again, or choose another model.`,
            options,
          )
        : new GatewayError(
            code,
            `The provider of this model failed (${failure.kind}). Try again, or choose another model.`,
            options,
          )
    case 'timeout':
      return new GatewayError(
        code,
        'The provider did not answer in time. Try again, or choose another model.',
        options,
      )
    case 'rate_limit_exceeded':
      return new GatewayError(
        code,
        'The provider of this model limits the rate of requests. Try again later.',
        { ...options, retryAfterSeconds: failure.retryAfterSeconds ?? 5 },
      )
    case 'model_not_found':
      return new GatewayError(code, 'The provider does not have this model.', {
        ...options,
        param: 'model',
      })
    case 'invalid_value':
    case 'request_too_large':
    case 'content_policy_violation':
      return new GatewayError(code, failure.message, options)
  }
}
