import type { components } from '../../generated/types.ts'
import { GatewayError, type ErrorCode } from './error.ts'
import type { Usage } from './money/price.ts'
import type { Spent } from './money/pricing.ts'

export type FailureKind = components['schemas']['FailureKind']

type Kind = {
  mayTryNext?: true
  mayTryAgain?: true
  code: ErrorCode
  /** The request or the gateway is at fault: the failure does not affect the route's health. */
  callersFault?: true
}

/**
 * The kinds of upstream failure (docs/vendors.md#failure-kinds): whether another route may be tried, or the
 * same route after a pause, and the caller's error when no route is left.
 */
const kinds = {
  unreachable: { mayTryNext: true, mayTryAgain: true, code: 'provider_error' },
  timeout: { mayTryNext: true, mayTryAgain: true, code: 'timeout' },
  overloaded: { mayTryNext: true, mayTryAgain: true, code: 'provider_error' },
  rate_limited: { mayTryNext: true, mayTryAgain: true, code: 'rate_limit_exceeded' },
  out_of_credit: { mayTryNext: true, code: 'provider_error' },
  credentials: { mayTryNext: true, code: 'provider_error' },
  not_found: { mayTryNext: true, code: 'model_not_found' },
  malformed: { mayTryNext: true, code: 'provider_error' },
  no_picture: { mayTryNext: true, mayTryAgain: true, code: 'provider_error', callersFault: true },
  rejected: { code: 'invalid_value', callersFault: true },
  context_length: { mayTryNext: true, code: 'context_length_exceeded', callersFault: true },
  too_large: { code: 'request_too_large', callersFault: true },
  content_policy: { code: 'content_policy_violation', callersFault: true },
  // The gateway's fault: the answer was charged, so no other provider is tried.
  no_memory: { code: 'overloaded', callersFault: true },
  // The gateway's fault: the queue of image conversions is full.
  busy: { code: 'overloaded', callersFault: true },
  cancelled: { code: 'timeout' },
} as const satisfies Record<FailureKind, Kind>

/** Whether the provider is at fault for a failure of this kind. */
export function isProvidersFault(kind: FailureKind): boolean {
  return kind !== 'cancelled' && (kinds[kind] as Kind).callersFault !== true
}

/** More specific codes for a `rejected` request; the caller receives the same code. */
export const rejectionCodes = [
  'unsupported_parameter',
  'unsupported_value',
  'unknown_parameter',
  'missing_required_parameter',
] as const satisfies readonly ErrorCode[]
export type RejectionCode = (typeof rejectionCodes)[number]
type FailureCode = (typeof kinds)[FailureKind]['code'] | RejectionCode

const keyKinds: ReadonlySet<FailureKind> = new Set(['credentials', 'rate_limited', 'out_of_credit'])

/** Failures that end a request before its answer. */
const interruptions: ReadonlySet<FailureKind> = new Set(['unreachable', 'timeout', 'cancelled'])

/** The provider has answered, and may charge for it. */
const answered: ReadonlySet<FailureKind> = new Set(['malformed', 'no_picture', 'no_memory', 'busy'])

type Options = {
  cause?: unknown
  param?: string | undefined
  retryAfterSeconds?: number | undefined
  status?: number
  /** The error code of `rejected`; `invalid_value` when absent. */
  code?: RejectionCode | undefined
  /** The vendor's message about its own failure, which may be shown to the caller. */
  vendorText?: string | undefined
  /** The vendor's message without texts of the caller, for the ledger. */
  words?: string | undefined
  wasSent?: boolean | undefined
}

/** A failed upstream call. Its message is shown to the caller only if the request was at fault. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure'
  readonly kind: FailureKind
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** The upstream's HTTP status, where there was one. */
  readonly status: number | undefined
  /** The vendor's message, which is shown to the caller. */
  readonly vendorText: string | undefined
  /** The vendor's message for the ledger; undefined if it may be text of the model. */
  readonly words: string | undefined
  /** The caller's error code when no route is left. */
  readonly code: FailureCode
  /** Whether the request was sent before it failed: the vendor may have executed and charged it. */
  readonly wasSent: boolean
  /** The usage that the vendor reported in spite of the failure. */
  spent: Spent | undefined

  constructor(kind: FailureKind, message: string, options: Options = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.param = options.param
    this.retryAfterSeconds = options.retryAfterSeconds
    this.status = options.status
    this.vendorText = options.vendorText
    this.words = kind === 'no_picture' ? undefined : options.words
    this.code = options.code ?? kinds[kind].code
    this.wasSent = options.wasSent ?? false
  }

  /** A copy for a connection that ended, or was aborted, after the request was sent. */
  afterSending(): ProviderFailure {
    if (this.wasSent || this.status !== undefined || !interruptions.has(this.kind)) return this
    return new ProviderFailure(this.kind, this.message, { cause: this, wasSent: true })
  }

  /** Whether the vendor may have executed and charged the request. */
  get mayBeCharged(): boolean {
    if (this.spent !== undefined) return this.spent.isOpen === true
    const { kind, status = 200 } = this
    if (this.wasSent) return true
    // A redirect executed nothing; after a timeout of its own the vendor may still finish the request.
    if (status >= 300) return kind === 'timeout' && status >= 500
    return answered.has(kind)
  }

  get mayTryNext(): boolean {
    return (kinds[this.kind] as Kind).mayTryNext === true
  }

  /** Whether the same route may succeed after a pause. */
  get mayTryAgain(): boolean {
    // Without a status the gateway's own timeout expired; a second try would probably time out too.
    if (this.kind === 'timeout' && this.status === undefined) return false
    return (kinds[this.kind] as Kind).mayTryAgain === true
  }

  /** Whether the provider is not at fault: the route's health does not change. */
  get isCallersFault(): boolean {
    return (kinds[this.kind] as Kind).callersFault === true
  }

  /** Whether a try with another key of the same provider may succeed. */
  get concernsKey(): boolean {
    return keyKinds.has(this.kind)
  }
}

/** Ends a call whose key was revoked or expired during the call; `error` is the error for its caller. */
export class KeyEnded extends ProviderFailure {
  readonly error: GatewayError

  constructor(error: GatewayError) {
    super('cancelled', error.message)
    this.error = error
  }
}

/** The vendor may have executed and charged the request, so it is not sent again to any route. */
export class UnknownOutcome extends ProviderFailure {
  constructor(cause: ProviderFailure) {
    super(cause.kind, cause.message, { cause, wasSent: true })
  }

  override get mayTryNext(): boolean {
    return false
  }

  override get mayTryAgain(): boolean {
    return false
  }
}

/** Adds the usage that the vendor reported to an error that happened after its answer. */
export function afterSpending(error: unknown, usage: Usage): unknown {
  if (!(error instanceof ProviderFailure)) return error
  // All upstream requests of an aborted call throw the same error object, so it is copied.
  const own = error.afterSending()
  own.spent ??= { usage }
  return own
}

/** Whether the vendor may have executed and charged the failed request. */
export function isOutcomeUnknown({ cause }: GatewayError): boolean {
  return cause instanceof UnknownOutcome
}

/**
 * Selects the failure to report among those of several routes; undefined for an empty list. A provider error
 * is preferred to an unknown model, since other providers have the model; a conversation that is too long is
 * preferred to these two failures, since the caller can shorten it.
 */
export function mostRelevantFailure(
  failures: readonly ProviderFailure[],
): ProviderFailure | undefined {
  const ranks: ErrorCode[] = [
    'model_not_found',
    'timeout',
    'rate_limit_exceeded',
    'provider_error',
    'context_length_exceeded',
  ]
  const rank = ({ code }: ProviderFailure) => ranks.indexOf(code)
  const highest = Math.max(...failures.map(rank))
  return failures.findLast((failure) => rank(failure) === highest)
}

/** Whether an error was caused by the cancellation of its call. */
export function wasCancelled(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof ProviderFailure && cause.kind === 'cancelled'
}

/** The error that the caller gets for `failure`, the most relevant failure of `tries`. */
export function errorAfter(
  failure: ProviderFailure,
  tries: readonly { route: object }[],
): GatewayError {
  const { code } = failure
  const options = { cause: failure, param: failure.param }
  const ended = failure.wasSent ? failure.cause : failure
  if (ended instanceof KeyEnded) {
    return new GatewayError(ended.error.code, failure.message, options)
  }
  if (failure instanceof UnknownOutcome) return unknownOutcome(failure)
  switch (code) {
    case 'provider_error':
      return providerError(failure, new Set(tries.map(({ route }) => route)).size)
    case 'timeout':
      return new GatewayError(
        code,
        'The provider did not answer in time. Try again, or choose another model.',
        options,
      )
    case 'rate_limit_exceeded': {
      const { retryAfterSeconds = 5 } = failure
      const text = 'The provider of this model limits the rate of requests. Try again later.'
      return new GatewayError(code, text, { ...options, retryAfterSeconds })
    }
    case 'overloaded':
      return new GatewayError(code, failure.kind === 'busy' ? failure.message : memoryRanOut, {
        ...options,
        retryAfterSeconds: 1,
      })
    case 'model_not_found': {
      const text = 'The provider does not have this model.'
      return new GatewayError(code, text, { ...options, param: 'model' })
    }
    default:
      return new GatewayError(code, failure.message, options)
  }
}

const memoryRanOut =
  "The provider's answer took more memory than the gateway had left. It may be charged, and a repeated request " +
  'is charged again. Ask for less at once.'

function providerError(failure: ProviderFailure, routesTried: number): GatewayError {
  const { kind, message, param } = failure
  const options = { cause: failure, param }
  // The message is text of the model, for example a refusal, which the caller must see.
  if (kind === 'no_picture') return new GatewayError('provider_error', message, options)
  const said = failure.vendorText ? ` It said: ${failure.vendorText.replace(/\.$/, '')}.` : ''
  const [code, what] =
    routesTried > 1
      ? (['all_providers_failed', `All ${routesTried} providers of this model failed.`] as const)
      : (['provider_error', `The provider of this model failed (${kind}).`] as const)
  return new GatewayError(code, `${what}${said} Try again, or choose another model.`, options)
}

function unknownOutcome(failure: UnknownOutcome): GatewayError {
  const text =
    `${failure.message.replace(/\.?$/, '.')} The picture may have been made and charged, so the request was not repeated. ` +
    'To repeat it, which may be charged twice, send ' +
    `the header '${repeatHeader}: true'.`
  return new GatewayError(failure.code, text, { cause: failure })
}

/** The header that allows a repeated request, which may be charged twice. */
export const repeatHeader = 'x-gateway-allow-repeat'
