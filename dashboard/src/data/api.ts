import createClient from 'openapi-fetch'
import type { components, paths } from '../../../generated/types.ts'
import { noteAnswer, noteSilence } from './connection.ts'

export type Schemas = components['schemas']

/** The contract for a client, which may omit query parameters: the types of the gateway require those with a default. */
export type Paths = {
  [Path in keyof paths]: { [Method in keyof paths[Path]]: Requested<paths[Path][Method]> }
}

type Requested<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? Omit<Operation, 'parameters'> & {
      parameters: Omit<Operation['parameters'], 'query'> & { query?: Partial<NonNullable<Query>> }
    }
  : Operation

/** A failed request to the gateway; `param` names the invalid member of the request. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly code: string
  readonly param: string | undefined
  /** The X-Request-Id of the answer, as in the gateway's log; undefined when no answer arrived. */
  readonly requestId: string | undefined
  /** Whether this was a model call that reached a provider, so that GET /api/requests/{id} finds it. */
  readonly isCall: boolean
  /** From the Retry-After header, in seconds; undefined without the header. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    message: string,
    details: {
      status: number
      code?: string
      param?: string | undefined
      requestId?: string | undefined
      isCall?: boolean
      retryAfterSeconds?: number | undefined
    },
  ) {
    super(message)
    this.status = details.status
    this.code = details.code ?? 'unknown'
    this.param = details.param
    this.requestId = details.requestId
    this.isCall = details.isCall ?? false
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

let csrfToken: string | undefined
/** Sets the X-CSRF-Token header of later requests that change data. */
export const setCsrfToken = (token: string | undefined): void => void (csrfToken = token)
/** The headers by which a session may change data. */
export const csrfHeaders = (): Record<string, string> =>
  csrfToken === undefined ? {} : { 'x-csrf-token': csrfToken }

let beforeChanges: Promise<void> | undefined
/** Sets what requests that change data wait for. A page shows its buttons before the session has the token. */
export const waitBeforeChanges = (loaded: Promise<void>): void => void (beforeChanges = loaded)

/** Called when an answer shows that the session has ended or never existed. */
let onSignedOut = (): void => undefined
export const whenSignedOut = (listener: () => void): void => void (onSignedOut = listener)

/** Requests without an answer are aborted after this time. */
const answerTimeoutMs = 30_000

/** Limits of the retries after a 503 with Retry-After: attempts in total, and the longest delay that is accepted. */
const turnsMax = 4
const turnSecondsMax = 2

/** Repeats a GET after a 503 with a short Retry-After: the gateway limits concurrent reports per account. */
async function inTurn(request: Request, signal: AbortSignal): Promise<Response> {
  for (let turn = 1; ; turn++) {
    const response = await fetch(request, { signal })
    const seconds = Number(response.headers.get('retry-after'))
    const isSoon = response.status === 503 && seconds > 0 && seconds <= turnSecondsMax
    if (request.method !== 'GET' || !isSoon || turn === turnsMax) return response
    // Random delays keep requests that were refused together from being repeated together.
    const delayMs = seconds * 1000 * (0.5 + Math.random())
    await new Promise((resolve) => setTimeout(resolve, delayMs))
  }
}

const client = createClient<Paths>({
  baseUrl: location.origin,
  credentials: 'same-origin',
  // A list is sent as one query parameter with comma-separated items.
  querySerializer: { array: { style: 'form', explode: false } },
  fetch: async (request: Request) => {
    if (request.method !== 'GET') {
      await beforeChanges
      if (csrfToken !== undefined) request.headers.set('x-csrf-token', csrfToken)
    }
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(answerTimeoutMs)])
    try {
      const response = await inTurn(request, signal)
      noteAnswer(response)
      return response
    } catch (error) {
      if (request.signal.aborted) throw error
      const isLate = signal.aborted
      noteSilence()
      throw new Refusal(
        isLate
          ? `The gateway has not answered within ${answerTimeoutMs / 1000} s. Try again.`
          : 'The gateway cannot be reached. Check that it is running, then try again.',
        { status: 0, code: isLate ? 'timeout' : 'unreachable' },
      )
    }
  },
})

/** Calls of the operations in openapi.yaml, with their types. */
export const { GET, POST, PUT, PATCH, DELETE } = client

type Outcome<T> = { data?: T; error?: unknown; response: Response }

/** Returns the body of an answer with status 2xx. Throws a Refusal. */
export async function bodyOf<T>(asked: Promise<Outcome<T>>): Promise<T> {
  const { data, error, response } = await asked.catch(toStrangeAnswer)
  if (response.ok && data === undefined && response.status !== 204) throw strangeAnswer()
  if (response.ok) return data as T
  const refusal = refusalOf(error, response)
  if (!signedOutCodes.has(refusal.code)) throw refusal
  onSignedOut()
  throw new Refusal('Your session has ended. Sign in again.', refusal)
}

/** Error codes of a missing or ended session; a page that sends no session cookie gets `missing_api_key`. */
const signedOutCodes: ReadonlySet<string> = new Set(['invalid_session', 'missing_api_key'])

/** Throws a Refusal for a body that is not JSON, which comes from a proxy and not from the gateway. */
function toStrangeAnswer(thrown: unknown): never {
  throw thrown instanceof SyntaxError ? strangeAnswer() : thrown
}

function strangeAnswer(): Refusal {
  const text =
    'The answer did not come from the gateway, but perhaps from a proxy. Try again, and check the ' +
    'proxies between this page and the gateway.'
  return new Refusal(text, { status: 0, code: 'unreachable' })
}

/** Converts an error answer to a Refusal, also an answer without a body in the form of the contract. */
export function refusalOf(body: unknown, response: Response): Refusal {
  const { error } = (body ?? {}) as Partial<Schemas['ErrorResponse']>
  const { status } = response
  const requestId = response.headers.get('x-request-id') ?? undefined
  const isCall = response.headers.has('x-gateway-attempts')
  if (error === undefined || typeof error.message !== 'string') {
    return new Refusal(`The gateway answered with status ${status}. Try again in a moment.`, {
      status,
      requestId,
      isCall,
    })
  }
  const { message, code, param } = error
  const retryAfter = response.headers.get('retry-after')
  return new Refusal(message, {
    status,
    retryAfterSeconds: retryAfter === null ? undefined : Number(retryAfter),
    code: code ?? 'unknown',
    param: param ?? undefined,
    requestId,
    isCall,
  })
}
