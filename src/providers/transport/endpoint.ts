import type { ReadSources } from '../../core/image/image.ts'
import type { Coalescing } from './coalescing.ts'
import type { Dispatch, UpstreamBody, UpstreamRequest } from './dispatch.ts'
import type { FetchPicture } from './fetch-picture.ts'

/** One configured vendor or server, as its adapters need it. */
export type Endpoint = {
  id: string
  /** Signed requests to the vendor's base URL. */
  dispatch: Dispatch
  /** Takes every key out of a text. */
  redact: (text: string) => string
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

/** Builds JSON requests; `headers` go with each of them, `print` writes their bodies. */
export function jsonRequests(
  { limits }: Pick<Endpoint, 'limits'>,
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
    headersTimeoutMs: limits.headersTimeoutMs,
    idleTimeoutMs: limits.idleTimeoutMs,
  })
}
