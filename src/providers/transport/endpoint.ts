import type { Picture, ReadSources } from '../../core/image/image.ts'
import type { Turn } from '../../core/turn.ts'
import type { Coalescing } from './coalescing.ts'
import type { Dispatch } from './dispatch.ts'
import type { VendorTexts } from './vendor-texts.ts'

/** Downloads a picture from a URL in a vendor's answer. Throws a ProviderFailure. */
export type FetchPicture = (address: string, turn: Turn) => Promise<Picture>

/** The parts of a configured vendor or server that adapters need. */
export type Endpoint = {
  id: string
  baseUrl: string
  /** Sends requests with the key to paths below the vendor's base URL. */
  dispatch: Dispatch
  /** Cleans the vendor's texts before they reach a caller. */
  texts: VendorTexts
  limits: UpstreamLimits
  coalescing: Coalescing
  /** Downloads a picture from a URL in the vendor's answer. */
  fetchPicture: FetchPicture
  /** Reads images that a caller passed by URL, for vendors that do not fetch them. */
  readSources: ReadSources
}
export type UpstreamLimits = {
  headersTimeoutMs: number
  idleTimeoutMs: number
  /** How long a stream may stay open after its end mark. */
  endTimeoutMs: number
  answerBytesMax: number
  /** Limit for the JSON of an answer without pictures, and for an event of a stream. */
  jsonBytesMax: number
  /** The time between two polls of a task. */
  taskPollMs: number
}
export type StreamLimits = Pick<UpstreamLimits, 'answerBytesMax' | 'jsonBytesMax' | 'endTimeoutMs'>

/** The same endpoint with `path` before every request path. */
export function below(endpoint: Endpoint, path: string): Endpoint {
  const { dispatch } = endpoint
  return {
    ...endpoint,
    dispatch: (request, receiver) => dispatch({ ...request, path: path + request.path }, receiver),
  }
}

/** The members of an endpoint without hosts, and without picture URLs in requests and answers. */
export const noPictures: Pick<Endpoint, 'baseUrl' | 'fetchPicture' | 'readSources'> = {
  baseUrl: 'https://none.invalid',
  fetchPicture: () => Promise.reject(new Error('This endpoint returns no picture URLs.')),
  readSources: () => Promise.reject(new Error('This endpoint returns no picture URLs.')),
}
