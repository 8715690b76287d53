import { Pool, type Dispatcher } from 'undici'

export type UpstreamRequest = {
  method: 'GET' | 'POST'
  /** Appended to the base URL. */
  path: string
  headers: Record<string, string>
  body?: string | Buffer
  /** How long the answer's headers may take. */
  headersTimeoutMs: number
  /** How long the body may pause. */
  idleTimeoutMs: number
}
export type UpstreamControl = { pause(): void; resume(): void; abort(reason: Error): void }
/** Hears one answer: its head, its pieces, and then either `end` or `error`, once. */
export type Receiver = {
  start(control: UpstreamControl): void
  head(status: number, headers: Record<string, string | string[] | undefined>): void
  data(piece: Buffer): void
  end(): void
  error(error: Error): void
}
/** Sends a request to one upstream. An in-process upstream has the same shape. */
export type Dispatch = (request: UpstreamRequest, receiver: Receiver) => void

type Options = { connectTimeoutMs: number; connectionsMax: number }

export type UpstreamPool = {
  /** Paths are below the base URL. */
  dispatch: Dispatch
  /** Paths are below the base URL's origin. */
  dispatchToOrigin: Dispatch
  close: () => Promise<void>
}

/** Requests to the origin of `baseUrl` over a pool of kept connections. */
export function createDispatch(
  baseUrl: string,
  { connectTimeoutMs, connectionsMax }: Options,
): UpstreamPool {
  const { origin, pathname } = new URL(baseUrl)
  const prefix = pathname.replace(/\/+$/, '')
  const pool = new Pool(origin, {
    connections: connectionsMax,
    connect: { timeout: connectTimeoutMs },
  })
  const send = (path: string, request: UpstreamRequest, receiver: Receiver) => {
    pool.dispatch(
      {
        method: request.method,
        path,
        headers: request.headers,
        body: request.body ?? null,
        headersTimeout: request.headersTimeoutMs,
        bodyTimeout: request.idleTimeoutMs,
      },
      handlerFor(receiver),
    )
  }
  return {
    dispatch: (request, receiver) => send(prefix + request.path, request, receiver),
    dispatchToOrigin: (request, receiver) => send(request.path, request, receiver),
    close: () => pool.destroy(),
  }
}

function handlerFor(receiver: Receiver): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller) => receiver.start(controller),
    onResponseStart: (_controller, status, headers) => {
      // 1xx answers come before the one that counts.
      if (status >= 200) receiver.head(status, headers)
    },
    onResponseData: (_controller, piece) => receiver.data(piece),
    onResponseEnd: () => receiver.end(),
    onResponseError: (_controller, error) => receiver.error(error),
  }
}
