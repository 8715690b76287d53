import type {
  BudgetState,
  ErrorBody,
  ErrorType,
  MessageErrorResponse,
  UnlistedValue,
} from './generated/types.js'

type MessageError = MessageErrorResponse['error']
/** The forms of errors: the gateway's, that of the Messages API, and that of a vendor's stream of a response. */
type Body = {
  error?: Partial<ErrorBody> & Partial<Pick<MessageError, 'details'>>
  message?: string
  code?: ErrorBody['code']
  param?: string | null
  request_id?: string
  late_headers?: Record<string, string>
}
type Details = {
  status?: number
  headers?: Headers
  /** JSON, or a text that is not JSON. */
  body?: unknown
  message?: string
  cause?: unknown
  /** Whether the call may be repeated if its error is temporary. */
  mayRepeat: boolean
}

const temporaryTypes: ReadonlySet<string> = new Set<ErrorType>([
  'timeout_error',
  'rate_limit_error',
  'api_error',
  'upstream_error',
  'overloaded_error',
])

/** A failed call: an error of the gateway, or a failed connection. Members without a value are undefined. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  /** The status of the response; 200 for an error in a stream, undefined without a response. */
  readonly status: number | undefined
  /** The code; in the stream of a response it may be one of OpenAI's. */
  readonly code: NonNullable<ErrorBody['code']> | UnlistedValue | undefined
  readonly type: ErrorBody['type'] | MessageError['type'] | undefined
  /** The parameter or header at fault, as a path such as `images[0].image_url`. */
  readonly param: string | undefined
  /** The id of the call, for `retrieveRequest` and for the operator of the gateway. */
  readonly requestId: string | undefined
  /** Whether the same call may succeed later and is not charged twice. */
  readonly shouldRetry: boolean
  /** The pause before a retry that the gateway asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** With the code `insufficient_quota`, the budget that does not cover the call. */
  readonly budget: BudgetState | undefined
  /** The headers of the response, and those that the error event of a stream adds. */
  readonly headers: Headers
  /** The body of the response, or the data of the error event: JSON, or a text that is not JSON. */
  readonly body: unknown

  constructor({ status, headers, body, message, cause, mayRepeat }: Details) {
    const { error, late_headers: late = {}, ...rest } = bodyOf(body)
    const text = error?.message ?? rest.message ?? message
    super(text ?? `The response ${status} is not from the gateway.`, { cause })
    this.status = status
    this.body = body
    this.headers = new Headers(headers)
    for (const [name, value] of Object.entries(late)) this.headers.set(name, value)
    this.code = error?.code ?? error?.details?.error_code ?? rest.code ?? undefined
    this.type = error?.type
    this.param = error?.param ?? error?.details?.param ?? rest.param ?? undefined
    const requestId = error?.request_id ?? rest.request_id ?? this.headers.get('x-request-id')
    this.requestId = requestId ?? undefined
    this.budget = error?.budget
    this.retryAfterMs = retryAfterMs(this.headers)
    const advice = this.headers.get('x-should-retry')
    this.shouldRetry = advice === 'true' || (advice !== 'false' && mayRepeat && isTemporary(this))
  }
}

/** The error of a response that is not a success. Reads its body. */
export async function errorOf(response: Response, isSafe: boolean): Promise<GatewayError> {
  const { status, headers } = response
  // After 502 or 504 of a proxy, the gateway may still make the call, and charge it.
  const mayRepeat = isSafe || headers.has('x-request-id') || status === 429 || status === 503
  return new GatewayError({ status, headers, body: parsed(await response.text()), mayRepeat })
}

/** The JSON of a text, or the text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Whether an event of a stream is an error. */
export function isError(body: unknown): boolean {
  // A chunk of a vendor may have `error: null`.
  return typeof bodyOf(body).error === 'object' && bodyOf(body).error !== null
}

function bodyOf(body: unknown): Body {
  return typeof body === 'object' && body !== null ? body : {}
}

function isTemporary({ status, type, retryAfterMs }: GatewayError): boolean {
  if (status === undefined) return true
  if (status < 400) return type !== undefined && temporaryTypes.has(type)
  // With this header: a call with the same idempotency key is running.
  if (status === 409) return retryAfterMs !== undefined
  return status === 408 || status === 429 || status >= 500
}

function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
