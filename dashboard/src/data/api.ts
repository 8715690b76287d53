import createClient from 'openapi-fetch'
import type { components, paths } from '../../../generated/client-types.ts'
import { noteAnswer, noteSilence } from './connection.ts'

export type Schemas = components['schemas']

/** Why the gateway did not do what it was asked; `param` names the member at fault. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly code: string
  readonly param: string | undefined
  /** Of the request, as the gateway's log names it; undefined where no answer came. */
  readonly requestId: string | undefined
  /** Whether it was a call of a model, which GET /api/requests/{id} knows once a provider was asked. */
  readonly isCall: boolean
  /** When it may be asked again at the earliest, in seconds; undefined where nothing says so. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    message: string,
    told: {
      status: number
      code?: string
      param?: string | undefined
      requestId?: string | undefined
      isCall?: boolean
      retryAfterSeconds?: number | undefined
    },
  ) {
    super(message)
    this.status = told.status
    this.code = told.code ?? 'unknown'
    this.param = told.param
    this.requestId = told.requestId
    this.isCall = told.isCall ?? false
    this.retryAfterSeconds = told.retryAfterSeconds
  }
}

let csrfToken: string | undefined
/** What requests that change something carry from now on. */
export const setCsrfToken = (token: string | undefined): void => void (csrfToken = token)

/** Called when a request shows that nobody is signed in. */
let onSignedOut = (): void => undefined
export const whenSignedOut = (listener: () => void): void => void (onSignedOut = listener)

/** Beyond this an answer is not waited for. */
const answerTimeoutMs = 30_000

/** So often what has to wait for its turn is asked for, and so long it waits at most each time. */
const turnsMax = 4
const turnSecondsMax = 2

/** Reports of an account share a few turns: one that is told to come back soon does so by itself. */
async function inTurn(request: Request, signal: AbortSignal): Promise<Response> {
  for (let turn = 1; ; turn++) {
    const response = await fetch(request, { signal })
    const seconds = Number(response.headers.get('retry-after'))
    const isSoon = response.status === 503 && seconds > 0 && seconds <= turnSecondsMax
    if (request.method !== 'GET' || !isSoon || turn === turnsMax) return response
    // Those that were refused together do not come back together.
    const delayMs = seconds * 1000 * (0.5 + Math.random())
    await new Promise((resolve) => setTimeout(resolve, delayMs))
  }
}

const client = createClient<paths>({
  baseUrl: location.origin,
  credentials: 'same-origin',
  // Lists are one parameter, its items with commas between them.
  querySerializer: { array: { style: 'form', explode: false } },
  fetch: async (request: Request) => {
    if (csrfToken !== undefined && request.method !== 'GET') {
      request.headers.set('x-csrf-token', csrfToken)
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
          : 'The gateway cannot be reached. Look whether it runs, and try again.',
        { status: 0, code: isLate ? 'timeout' : 'unreachable' },
      )
    }
  },
})

/** The operations of the contract (openapi.yaml), typed by it. */
export const { GET, POST, PUT, PATCH, DELETE } = client

type Outcome<T> = { data?: T; error?: unknown; response: Response }

/** The body of an answer. Throws a Refusal. */
export async function bodyOf<T>(asked: Promise<Outcome<T>>): Promise<T> {
  const { data, error, response } = await asked.catch(toStrangeAnswer)
  if (response.ok && data === undefined && response.status !== 204) throw strangeAnswer()
  if (response.ok) return data as T
  const refusal = refusalOf(error, response)
  if (!signedOutCodes.has(refusal.code)) throw refusal
  onSignedOut()
  throw new Refusal('Your session has ended. Sign in again.', refusal)
}

/** What pages get without the cookie of a session: they have no key that could be missing. */
const signedOutCodes: ReadonlySet<string> = new Set(['invalid_session', 'missing_api_key'])

/** What is no JSON was not answered by the gateway. */
function toStrangeAnswer(thrown: unknown): never {
  throw thrown instanceof SyntaxError ? strangeAnswer() : thrown
}

function strangeAnswer(): Refusal {
  const text =
    'Something has answered that is not the gateway: a proxy in between, perhaps. Try again, and look ' +
    'what is between this page and the gateway.'
  return new Refusal(text, { status: 0, code: 'unreachable' })
}

/** What an answer says about why it is none. */
export function refusalOf(body: unknown, response: Response): Refusal {
  const { error } = (body ?? {}) as Partial<Schemas['ErrorResponse']>
  const { status } = response
  const requestId = response.headers.get('x-request-id') ?? undefined
  const isCall = new URL(response.url || location.href).pathname.startsWith('/v1/')
  if (error === undefined || typeof error.message !== 'string') {
    return new Refusal(`The gateway answers ${status}. Try again in a moment.`, {
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
