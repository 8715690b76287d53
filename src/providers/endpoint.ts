import type { Dispatch } from './dispatch.ts'

/** One configured vendor or server, as its adapters need it. */
export type Endpoint = {
  id: string
  /** Requests to the vendor's base URL. */
  dispatch: Dispatch
  /** Used in turn; none is sent when there are none. */
  keys: readonly string[]
  limits: UpstreamLimits
}
export type UpstreamLimits = {
  headersTimeoutMs: number
  idleTimeoutMs: number
  answerBytesMax: number
}

/** The same endpoint, for a protocol that it speaks below a path. */
export function below(endpoint: Endpoint, path: string): Endpoint {
  const { dispatch } = endpoint
  return {
    ...endpoint,
    dispatch: (request, receiver) => dispatch({ ...request, path: path + request.path }, receiver),
  }
}
