import type { components } from '../../generated/types.ts'
import { GatewayError, type ErrorCode } from './error.ts'
import type { Usage } from './money/price.ts'
import type { Spent } from './money/pricing.ts'

export type FailureKind = components['schemas']['FailureKind']

type Kind = {
  mayTryNext: boolean
  mayTryAgain: boolean
  code: ErrorCode
  /** The request is at fault, or the gateway, and nothing is said of the route. */
  callersFault?: true
}

/**
 * The kinds of upstream failure (docs/vendors.md#failure-kinds): whether another route may be tried
 * or the same one retried after a pause, and the caller's error when no route is left.
 */
const kinds = {
  unreachable: { mayTryNext: true, mayTryAgain: true, code: 'provider_error' },
  timeout: { mayTryNext: true, mayTryAgain: true, code: 'timeout' },
  overloaded: { mayTryNext: true, mayTryAgain: true, code: 'provider_error' },
  rate_limited: { mayTryNext: true, mayTryAgain: true, code: 'rate_limit_exceeded' },
  out_of_credit: { mayTryNext: true, mayTryAgain: false, code: 'provider_error' },
  credentials: { mayTryNext: true, mayTryAgain: false, code: 'provider_error' },
  not_found: { mayTryNext: true, mayTryAgain: false, code: 'model_not_found' },
  malformed: { mayTryNext: true, mayTryAgain: false, code: 'provider_error' },
  no_picture: { mayTryNext: true, mayTryAgain: true, code: 'provider_error', callersFault: true },
  rejected: { mayTryNext: false, mayTryAgain: false, code: 'invalid_value', callersFault: true },
  context_length: {
    mayTryNext: true,
    mayTryAgain: false,
    code: 'context_length_exceeded',
    callersFault: true,
  },
  too_large: {
    mayTryNext: false,
    mayTryAgain: false,
    code: 'request_too_large',
    callersFault: true,
  },
  content_policy: {
    mayTryNext: false,
    mayTryAgain: false,
    code: 'content_policy_violation',
    callersFault: true,
  },
  // Our own fault: the answer was paid for, so that no other provider is asked.
  no_memory: { mayTryNext: false, mayTryAgain: false, code: 'overloaded', callersFault: true },
  // Our own state too: of pictures that wait for their turn there are enough.
  busy: { mayTryNext: false, mayTryAgain: false, code: 'overloaded', callersFault: true },
  cancelled: { mayTryNext: false, mayTryAgain: false, code: 'timeout' },
} as const satisfies Record<FailureKind, Kind>

/** Whether a failure of this kind says that the provider failed. */
export function isProvidersFault(kind: FailureKind): boolean {
  return kind !== 'cancelled' && (kinds[kind] as Kind).callersFault !== true
}

/** What a vendor may call a `rejected` request more exactly; the caller is told the same code. */
export const rejectionCodes = [
  'unsupported_parameter',
  'unsupported_value',
  'unknown_parameter',
  'missing_required_parameter',
] as const satisfies readonly ErrorCode[]
export type RejectionCode = (typeof rejectionCodes)[number]
type FailureCode = (typeof kinds)[FailureKind]['code'] | RejectionCode

const keyKinds: ReadonlySet<FailureKind> = new Set(['credentials', 'rate_limited', 'out_of_credit'])

/** What ended a request, and not its answer. */
const interruptions: ReadonlySet<FailureKind> = new Set(['unreachable', 'timeout', 'cancelled'])

/** The provider has answered, and may charge for it. */
const answered: ReadonlySet<FailureKind> = new Set(['malformed', 'no_picture', 'no_memory', 'busy'])

type Options = {
  cause?: unknown
  param?: string | undefined
  retryAfterSeconds?: number | undefined
  status?: number
  /** For `rejected`: what is wrong; `invalid_value` when absent. */
  code?: RejectionCode | undefined
  /** The vendor's words about a failure of its own, which the caller may read. */
  said?: string | undefined
  wasSent?: true
}

/** A failed upstream call. Its message is shown to the caller only if the request was at fault. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure'
  readonly kind: FailureKind
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** The upstream's HTTP status, where there was one. */
  readonly status: number | undefined
  /** What the caller may read though the provider is at fault. */
  readonly said: string | undefined
  /** The caller's error code when no route is left. */
  readonly code: FailureCode
  /** It came to nothing behind a request that had been sent: it may have been done, and charged. */
  readonly wasSent: boolean
  /** What the vendor has made and counted all the same. */
  spent: Spent | undefined

  constructor(kind: FailureKind, message: string, options: Options = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.param = options.param
    this.retryAfterSeconds = options.retryAfterSeconds
    this.status = options.status
    this.said = options.said
    this.code = options.code ?? kinds[kind].code
    this.wasSent = options.wasSent ?? false
  }

  /** The same of a connection that ended, or was given up, when the request had been sent. */
  afterSending(): ProviderFailure {
    if (this.wasSent || !interruptions.has(this.kind)) return this
    return new ProviderFailure(this.kind, this.message, { cause: this, wasSent: true })
  }

  /** Whether only the vendor knows if it has done, and charges for, what was asked. */
  get mayBeCharged(): boolean {
    if (this.spent !== undefined) return this.spent.isOpen === true
    const { kind, status = 200 } = this
    // A redirect did nothing; a vendor's 504 or 524 says nothing of the work that was waited for.
    if (status >= 300) return kind === 'timeout' && status >= 500
    return this.wasSent || answered.has(kind)
  }

  get mayTryNext(): boolean {
    return kinds[this.kind].mayTryNext
  }

  /** Whether the same route may succeed after a pause. */
  get mayTryAgain(): boolean {
    // Without a status the upstream was silent until our own time limit, and may be so again.
    if (this.kind === 'timeout' && this.status === undefined) return false
    return kinds[this.kind].mayTryAgain
  }

  /** Whether the provider is not at fault: then the route is as healthy as it was. */
  get isCallersFault(): boolean {
    return (kinds[this.kind] as Kind).callersFault === true
  }

  /** Whether a try with another key of the same provider may succeed. */
  get concernsKey(): boolean {
    return keyKinds.has(this.kind)
  }
}

/** Ends a call whose key was revoked or has expired meanwhile; `error` is for its caller. */
export class KeyEnded extends ProviderFailure {
  readonly error: GatewayError

  constructor(error: GatewayError) {
    super('cancelled', error.message)
    this.error = error
  }
}

/** What was asked for may have been made and charged: it is not asked for again, here or elsewhere. */
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

/** An error behind an answer of which it is known what the vendor has made and counted. */
export function afterSpending(error: unknown, usage: Usage): unknown {
  if (!(error instanceof ProviderFailure)) return error
  // What aborts a call is thrown by each of its upstream requests.
  const own = error.afterSending()
  own.spent ??= { usage }
  return own
}

/** Whether nobody knows if what failed with this error was made and charged. */
export function isOutcomeUnknown({ cause }: GatewayError): boolean {
  return cause instanceof UnknownOutcome
}

/**
 * Of the failures of several routes, the one to report; undefined when there is none. A provider
 * error comes before an unknown model, since other providers do have it; a conversation that is too
 * long comes before both, since the caller can mend that.
 */
export function tellingFailure(failures: readonly ProviderFailure[]): ProviderFailure | undefined {
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

/** Whether an error was caused by a cancellation: its caller left. */
export function wasCancelled(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof ProviderFailure && cause.kind === 'cancelled'
}

/** The caller's error when `failure` is the one to report of these tries. */
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
    case 'provider_error': {
      // What the model said in the place of a picture is for the caller.
      if (failure.kind === 'no_picture') return new GatewayError(code, failure.message, options)
      const said = failure.said ? ` It said: ${failure.said.replace(/\.$/, '')}.` : ''
      const next = 'Try again, or choose another model.'
      const routesTried = new Set(tries.map(({ route }) => route)).size
      return routesTried > 1
        ? new GatewayError(
            'all_providers_failed',
            `All ${routesTried} providers of this model failed.${said} ${next}`,
            options,
          )
        : new GatewayError(
            code,
            `The provider of this model failed (${failure.kind}).${said} ${next}`,
            options,
          )
    }
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
    case 'overloaded':
      return new GatewayError(
        code,
        failure.kind === 'busy'
          ? failure.message
          : 'The answer took more memory than the gateway had left. Try again in a moment.',
        { ...options, retryAfterSeconds: 1 },
      )
    case 'model_not_found':
      return new GatewayError(code, 'The provider does not have this model.', {
        ...options,
        param: 'model',
      })
    case 'invalid_value':
    case 'unsupported_parameter':
    case 'unsupported_value':
    case 'unknown_parameter':
    case 'missing_required_parameter':
    case 'context_length_exceeded':
    case 'request_too_large':
    case 'content_policy_violation':
      return new GatewayError(code, failure.message, options)
  }
}

function unknownOutcome(failure: UnknownOutcome): GatewayError {
  const text =
    `${failure.message} The picture may have been made and charged, so it was not asked for again. ` +
    'To have it made all the same, which may be charged twice, send ' +
    `the header '${repeatHeader}: true'.`
  return new GatewayError(failure.code, text, { cause: failure })
}

/** The header by which a caller allows that something is made and charged twice. */
export const repeatHeader = 'x-gateway-allow-repeat'
