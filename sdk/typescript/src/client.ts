import { errorOf, GatewayError } from './gateway-error.js'

type HeaderValues = Record<string, string | undefined>

export type ClientConfig = {
  /** The address of the gateway, without `/v1`; in a browser by default the origin of the page. */
  baseUrl?: string | undefined
  /** The key, or a function that returns it. */
  auth?: string | undefined | (() => string | undefined | Promise<string | undefined>)
  /** Headers of every request. */
  headers?: HeaderValues | undefined
  /**
   * How often a failed call is repeated, with the pauses that the gateway asks for.
   * @default 2
   */
  maxRetries?: number | undefined
  /** Replaces the `fetch` of the platform. */
  fetch?: typeof fetch | undefined
}
/** What `createClient` returns. */
export type Client = Readonly<ClientConfig & { baseUrl: string }>

/** The request of an operation, as the generated types declare it. */
export type RequestData = {
  body?: unknown
  headers?: object
  path?: object
  query?: object
  url: string
}
/** The request of an operation that also takes a form, which is sent if the body has a file. */
export type WithForm<Data extends RequestData, Form> = Omit<Data, 'body'> & {
  body: Data['body'] | Form
  url: Data['url']
}

type CallOptions = {
  client: Client
  /** Additional headers. */
  headers?: HeaderValues
  /** Ends the call. The call then throws the reason of the signal. */
  signal?: AbortSignal | undefined
  /** Replaces the `maxRetries` of the client. */
  maxRetries?: number | undefined
}
export type StreamOptions<Data extends RequestData> = CallOptions & Omit<Data, 'url'>
export type Options<
  Data extends RequestData,
  ThrowOnError extends boolean = boolean,
> = StreamOptions<Data> & {
  /** Whether a failed call throws its `GatewayError`; by default it returns it as `error`. */
  throwOnError?: ThrowOnError
}

type Success<Answer> = { data: Answer; error?: undefined; response: Response }
type Failure = { data?: undefined; error: GatewayError; response?: undefined }
export type Result<Answer, ThrowOnError extends boolean> = ThrowOnError extends true
  ? Success<Answer>
  : Success<Answer> | Failure

/** A function that makes the calls of an operation. */
export type Operation<Data extends RequestData, Responses> = <ThrowOnError extends boolean = false>(
  options: Options<Data, ThrowOnError>,
) => Promise<Result<Responses[keyof Responses], ThrowOnError>>

/** A request of an operation, with its place in the contract. */
export type Call = {
  method: string
  /** The path with its parameters in braces. */
  url: string
  /** Whether the operation takes a key. */
  takesKey: boolean
  options: CallOptions & Omit<RequestData, 'url' | 'headers'>
}

const maxRetriesByDefault = 2
const firstPauseMs = 500
/** The gateway asks for at most a minute; a longer pause is left to the caller. */
const pauseMsMax = 60_000

/** A client of the gateway at an address, with a key. Throws `TypeError` without a valid address. */
export function createClient(config: ClientConfig = {}): Client {
  // Node has no location.
  const { location } = globalThis as { location?: { origin: string } }
  const { baseUrl = location?.origin } = config
  if (baseUrl === undefined) throw new TypeError('baseUrl, the address of the gateway, is missing.')
  // Throws for an address that `fetch` would refuse at each call.
  void new URL(baseUrl)
  return { ...config, baseUrl: baseUrl.replace(/\/+$/, '') }
}

/** The function of an operation that has a path and a method. */
export function operation<Data extends RequestData, Responses>(
  method: string,
  url: Data['url'],
  takesKey = true,
): Operation<Data, Responses> {
  const call = async (options: Options<Data>) => {
    try {
      const response = await send({ method, url, takesKey, options })
      return { data: await contentOf(response, options.signal), response }
    } catch (error) {
      if (options.throwOnError === true || !(error instanceof GatewayError)) throw error
      return { error }
    }
  }
  // The types of answers are those of the contract, and `throwOnError` decides whether an error is returned.
  return call as Operation<Data, Responses>
}

/** The response to a call that succeeds. Repeats it as often as the client allows. Throws `GatewayError`. */
export async function send(call: Call): Promise<Response> {
  const { client, signal } = call.options
  const retriesMax = retriesMaxOf(call.options)
  const request = await requestOf(call)
  for (let failures = 0; ; failures++) {
    let error: GatewayError
    try {
      // A browser refuses a `fetch` that is called as a method of another object.
      const { fetch = globalThis.fetch } = client
      const response = await fetch(request.url, request.init)
      if (response.ok) return response
      error = await errorOf(response, request.isSafe)
    } catch (cause) {
      error = connectionError(cause, signal, request.isSafe)
    }
    if (!error.shouldRetry || failures >= retriesMax) throw error
    await pauseBeforeRetry(error, failures, signal)
  }
}

/** How often a call with these options is repeated. */
export function retriesMaxOf({ client, maxRetries }: CallOptions): number {
  return maxRetries ?? client.maxRetries ?? maxRetriesByDefault
}

/** The error of a failed connection. Throws `cause` if the caller has ended the call. */
export function connectionError(
  cause: unknown,
  signal: AbortSignal | undefined,
  mayRepeat: boolean,
): GatewayError {
  if (signal?.aborted === true) throw cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `The connection to the gateway failed: ${reason}`
  return new GatewayError({ message, cause, mayRepeat })
}

/** Waits before a call is repeated. Throws `error` if it asks for too long a pause, and the reason of `signal`. */
export async function pauseBeforeRetry(
  error: GatewayError,
  failures: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  // With a random part, so that clients that failed together do not return together.
  const ownMs = firstPauseMs * 2 ** Math.min(failures, 4) * (1 - Math.random() / 4)
  const ms = error.retryAfterMs ?? ownMs
  if (ms > pauseMsMax) throw error
  await new Promise<void>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted === true) end()
  })
}

async function requestOf({ method, url, takesKey, options }: Call) {
  const { client, path, query, body, signal } = options
  const headers = new Headers()
  for (const [name, value] of Object.entries({ ...client.headers, ...options.headers }))
    if (value !== undefined) headers.set(name, value)
  if (takesKey && !headers.has('authorization')) {
    const key = typeof client.auth === 'function' ? await client.auth() : client.auth
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
  }
  const init: RequestInit = { method, headers }
  if (signal !== undefined) init.signal = signal
  if (isForm(body)) {
    // `fetch` sets the media type of a form, with its boundary.
    init.body = formOf(body)
  } else if (body !== undefined) {
    init.body = JSON.stringify(body)
    headers.set('content-type', 'application/json')
  }
  return {
    url: `${client.baseUrl}${filled(url, path)}${queryOf(query)}`,
    init,
    // Without a response it is unknown whether the gateway received the call.
    isSafe: method !== 'POST' || headers.has('idempotency-key'),
  }
}

function filled(url: string, path: object | undefined): string {
  const values = new Map<string, Scalar | null | undefined>(Object.entries(path ?? {}))
  return url.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values.get(name) ?? '')
    // Of these the address would be that of another operation.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`path.${name} is not an id: '${value}'.`)
    return encodeURIComponent(value)
  })
}

type QueryValue = Scalar | Scalar[] | null | undefined
type Scalar = string | number | boolean

function queryOf(query: object | undefined): string {
  const parts = Object.entries(query ?? {}).flatMap(([name, value]: [string, QueryValue]) => {
    if (value === undefined || value === null) return []
    // By the contract the items of a list are separated by commas.
    const values = [value].flat().map((one) => encodeURIComponent(one))
    return `${name}=${values.join(',')}`
  })
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}

/** Whether a body has files: JSON has none. */
function isForm(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false
  return Object.values(body).some((value) => [value].flat().some((one) => one instanceof Blob))
}

function formOf(body: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body))
    for (const one of [value].flat())
      if (one !== undefined && one !== null)
        form.append(
          name,
          one instanceof Blob || typeof one === 'string' ? one : JSON.stringify(one),
        )
  return form
}

async function contentOf(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  if (response.status === 204) return undefined
  const type = response.headers.get('content-type') ?? ''
  try {
    if (/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return await response.json()
    return await (/^text\/|ndjson/.test(type) ? response.text() : response.blob())
  } catch (cause) {
    throw connectionError(cause, signal, false)
  }
}
