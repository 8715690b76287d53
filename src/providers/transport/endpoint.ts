import type { ReadSources } from '../../core/image/image.ts'
import type { Coalescing } from './coalescing.ts'
import type { Dispatch, UpstreamBody, UpstreamRequest } from './dispatch.ts'
import type { FetchPicture } from './fetch-picture.ts'

/** One configured vendor or server, as its adapters need it. */
export type Endpoint = {
  id: string
  /** Requests to the vendor's base URL. */
  dispatch: Dispatch
  /** Used in turn; none is sent when there are none. */
  keys: readonly string[]
  limits: UpstreamLimits
  coalescing: Coalescing
  /** Brings a picture that the vendor answers as an address. */
  fetchPicture: FetchPicture
  /** Brings pictures that a caller named, for vendors that fetch none. */
  readSources: ReadSources
}
export type UpstreamLimits = {
  headersTimeoutMs: number
  idleTimeoutMs: number
  /** How long a stream may stay open behind its end mark. */
  endTimeoutMs: number
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

/** Neither sends nor is sent addresses, so that it never asks for a picture. */
export const noPictures: Pick<Endpoint, 'fetchPicture' | 'readSources'> = {
  fetchPicture: () => Promise.reject(new Error('There are no addresses of pictures here.')),
  readSources: () => Promise.reject(new Error('There are no addresses of pictures here.')),
}

/** The header that most vendors take their key in. */
export const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Builds JSON requests to an endpoint, with its keys in turn; `print` writes their bodies. */
export function jsonRequests(
  { keys, limits }: Endpoint,
  headersOf: (key: string) => Record<string, string>,
  print: (body: unknown) => UpstreamBody = JSON.stringify,
): (path: string, body: unknown) => UpstreamRequest {
  const contentType = { 'content-type': 'application/json' }
  const headers = keys.map((key) => ({ ...contentType, ...headersOf(key) }))
  let turn = 0
  return (path, body) => ({
    method: 'POST',
    path,
    headers: headers[turn++ % headers.length] ?? contentType,
    body: print(body),
    headersTimeoutMs: limits.headersTimeoutMs,
    idleTimeoutMs: limits.idleTimeoutMs,
  })
}
