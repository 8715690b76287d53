import { Agent, Pool, type buildConnector, type Dispatcher } from 'undici'
import { unpackers } from '../../bytes/unpackers.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { productHeaders } from '../../core/product.ts'
import type { RouteCassette } from '../../core/cassette.ts'
import type { Turn } from '../../core/turn.ts'

/** A body in one or several pieces, sent verbatim; it can be sent repeatedly. */
export type UpstreamBody = string | readonly (string | Buffer)[]
export type UpstreamRequest = {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  /** The path is below the origin of the base URL instead. */
  atOrigin?: boolean
  /** Another host of the vendor, which gets the key; the path is below this origin. */
  otherOrigin?: string
  headers: Record<string, string>
  body?: UpstreamBody
  limits: RequestLimits
  /** Records the answer, or replays it. */
  cassette?: RouteCassette
  /** What the sandbox plays, as words of a prompt. */
  played?: string
}
/** Time limits of an answer: of its headers, of a pause of its body, and of the body of an error. */
export type RequestLimits = {
  headersTimeoutMs: number
  idleTimeoutMs: number
  endTimeoutMs: number
}
export type UpstreamHead = {
  status: number
  /** Whether the request was sent completely before. */
  wasSent?: boolean
  headers: Record<string, string | string[] | undefined>
}
export type UpstreamControl = { pause(): void; resume(): void; abort(reason: Error): void }
/** Receives one answer: its head, its pieces, and then either `end` or `error`, once. */
export type Receiver = {
  start(control: UpstreamControl): void
  /** The request was sent completely: from now on the upstream may process it. */
  sent?(): void
  head(status: number, headers: Record<string, string | string[] | undefined>): void
  data(piece: Buffer): void
  end(): void
  error(error: Error): void
}
/** Sends a request to one upstream. An in-process upstream has the same shape. */
export type Dispatch = (request: UpstreamRequest, receiver: Receiver) => void

/** Opens a connection; refuses addresses that the endpoint may not have. */
export type Connector = buildConnector.connector
type Options = {
  connectTimeoutMs: number
  connectionsMax: number
  /** Opens the connections in place of undici's own connector. */
  connector?: Connector | undefined
}

export type UpstreamPool = { dispatch: Dispatch; close: () => Promise<void> }

/** More than a vendor has regions. */
const otherOriginsMax = 16

/** Sends requests to the origin of `baseUrl`, or to another host of its vendor, over a pool of persistent connections. */
export function createDispatch(
  baseUrl: string,
  { connectTimeoutMs, connectionsMax, connector }: Options,
): UpstreamPool {
  const { origin, pathname } = new URL(baseUrl)
  const prefix = pathname.replace(/\/+$/, '')
  const options = {
    connections: connectionsMax,
    connect: connector ?? { timeout: connectTimeoutMs },
  }
  const pool = new Pool(origin, options)
  let others: Agent | undefined
  const poolOfOthers = () => (others ??= new Agent({ ...options, maxOrigins: otherOriginsMax }))
  const join = headersJoiner()
  const dispatch: Dispatch = (request, receiver) => {
    const { method, path, atOrigin, otherOrigin, body, limits } = request
    const headers = join(request.headers, productHeaders)
    const to = otherOrigin === undefined ? pool : poolOfOthers()
    to.dispatch(
      {
        origin: otherOrigin ?? origin,
        method,
        path: atOrigin || otherOrigin ? path : prefix + path,
        headers: typeof body === 'object' ? { ...headers, ...lengthOf(body) } : headers,
        // undici accepts any iterable of strings and buffers, which its types omit.
        body: (body ?? null) as string | null,
        headersTimeout: limits.headersTimeoutMs,
        bodyTimeout: limits.idleTimeoutMs,
      },
      handlerFor(receiver),
    )
  }
  return {
    dispatch,
    close: async () => {
      await Promise.all([pool.destroy(), others?.destroy()])
    },
  }
}

type Headers = Record<string, string>

/** Joins two sets of headers; equal calls share a result, since requests of one adapter have the same headers. */
export function headersJoiner(): (headers: Headers, added: Readonly<Headers>) => Headers {
  let last: { headers: Headers; added: Readonly<Headers>; joined: Headers } | undefined
  return (headers, added) => {
    if (last?.headers !== headers || last.added !== added)
      last = { headers, added, joined: { ...headers, ...added } }
    return last.joined
  }
}

/** Builds JSON requests; `headers` are added to each, `print` serialises the bodies. */
export function jsonRequests(
  { limits }: { limits: RequestLimits },
  {
    headers = {},
    print = JSON.stringify,
  }: { headers?: Record<string, string>; print?: (body: unknown) => UpstreamBody } = {},
): (path: string, body: unknown) => UpstreamRequest {
  const all = { 'content-type': 'application/json', ...headers }
  return (path, body) => ({
    method: 'POST',
    path,
    headers: all,
    body: print(body),
    limits,
  })
}

/** The same request with an idempotency key, if the vendor accepts one in `header`. */
export function withKey(
  request: UpstreamRequest,
  header: string | undefined,
  key: string | undefined,
): UpstreamRequest {
  if (header === undefined || key === undefined) return request
  return { ...request, headers: { ...request.headers, [header]: key } }
}

/** The same request with the trace context headers of the turn, its cassette and what the sandbox plays. */
export function ofTurn(
  request: UpstreamRequest,
  { traceHeaders, cassette, played }: Pick<Turn, 'traceHeaders' | 'cassette' | 'played'>,
): UpstreamRequest {
  if (traceHeaders === undefined && cassette === undefined && !played) return request
  const headers = { ...request.headers, ...traceHeaders }
  return { ...request, headers, ...(cassette && { cassette }), ...(played && { played }) }
}

/** The header `content-length`, which vendors require and undici does not add for several pieces. */
function lengthOf(pieces: readonly (string | Buffer)[]): Record<string, string> {
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  return { 'content-length': String(bytes) }
}

function handlerFor(receiver: Receiver): Dispatcher.DispatchHandler {
  let taking = receiver
  return {
    onRequestStart: (controller) => receiver.start(controller),
    onRequestSent: () => receiver.sent?.(),
    onResponseStart: (controller, status, headers) => {
      // Skips informational responses (1xx), which precede the final response.
      if (status < 200) return
      taking = unpacking(receiver, { headers }, controller) ?? receiver
      taking.head(status, headers)
    },
    onResponseData: (_controller, piece) => taking.data(piece),
    onResponseEnd: () => taking.end(),
    onResponseError: (_controller, error) => taking.error(error),
  }
}

/**
 * Decompresses an answer for a receiver; undefined for an uncompressed answer. The receiver's new
 * `control` also pauses decompression, so unread data is not decompressed.
 */
function unpacking(
  receiver: Receiver,
  { headers }: Pick<UpstreamHead, 'headers'>,
  control: UpstreamControl,
): Receiver | undefined {
  const encoding = headers['content-encoding']
  const create = encoding === undefined ? undefined : unpackers[String(encoding).toLowerCase()]
  if (create === undefined) return undefined
  const unpacker = create()
  let isOver = false
  const fail = (error: Error) => {
    if (isOver) return
    isOver = true
    unpacker.destroy()
    receiver.error(error)
  }
  const abort = (reason: Error) => {
    control.abort(reason)
    // Reports the abort here, since a request whose last byte has arrived reports none.
    fail(reason)
  }
  unpacker.on('data', (piece: Buffer) => {
    if (!isOver) receiver.data(piece)
  })
  unpacker.on('drain', () => control.resume())
  unpacker.on('error', (cause) => {
    const message = 'The answer does not match its Content-Encoding.'
    abort(new ProviderFailure('malformed', message, { cause }))
  })
  unpacker.on('end', () => {
    isOver = true
    receiver.end()
  })
  receiver.start({ pause: () => unpacker.pause(), resume: () => unpacker.resume(), abort })
  return {
    ...receiver,
    head: (status, { 'content-encoding': _packed, 'content-length': _length, ...rest }) =>
      receiver.head(status, rest),
    data: (piece) => {
      if (!isOver && !unpacker.write(piece)) control.pause()
    },
    end: () => unpacker.end(),
    error: fail,
  }
}

/** Aborts a request when the signal aborts. */
export function linkSignal(signal: AbortSignal) {
  let running: UpstreamControl | undefined
  const abort = (reason: Error) => running?.abort(reason)
  // The gateway always aborts with an Error.
  const onAbort = () => abort(signal.reason as Error)
  return {
    start: (control: UpstreamControl) => {
      running = control
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    },
    control: () => running!,
    abort,
    clear: () => signal.removeEventListener('abort', onAbort),
  }
}
