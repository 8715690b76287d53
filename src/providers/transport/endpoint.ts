import type { ReadSources } from '../../core/image/image.ts'
import type { Coalescing } from './coalescing.ts'
import type { Dispatch } from './dispatch.ts'
import type { FetchPicture } from './fetch-picture.ts'
import type { VendorTexts } from './vendor-texts.ts'

/** What adapters need of one configured vendor or server. */
export type Endpoint = {
  id: string
  /** Sends signed requests to paths below the vendor's base URL. */
  dispatch: Dispatch
  /** What a vendor's texts pass on their way to a caller. */
  texts: VendorTexts
  limits: UpstreamLimits
  coalescing: Coalescing
  /** Downloads a picture that the vendor answered as a URL. */
  fetchPicture: FetchPicture
  /** Reads images that a caller named by URL, for vendors that fetch none. */
  readSources: ReadSources
}
export type UpstreamLimits = {
  headersTimeoutMs: number
  idleTimeoutMs: number
  /** How long a stream may stay open after its end marker. */
  endTimeoutMs: number
  answerBytesMax: number
  /** The JSON of an answer, pictures aside, and an event of a stream. */
  jsonBytesMax: number
}
export type StreamLimits = Pick<UpstreamLimits, 'answerBytesMax' | 'jsonBytesMax' | 'endTimeoutMs'>

/** The same endpoint with `path` in front of every request path. */
export function below(endpoint: Endpoint, path: string): Endpoint {
  const { dispatch } = endpoint
  return {
    ...endpoint,
    dispatch: (request, receiver) => dispatch({ ...request, path: path + request.path }, receiver),
  }
}

/** For an endpoint that neither sends nor receives URLs of pictures. */
export const noPictures: Pick<Endpoint, 'fetchPicture' | 'readSources'> = {
  fetchPicture: () => Promise.reject(new Error('There are no addresses of pictures here.')),
  readSources: () => Promise.reject(new Error('There are no addresses of pictures here.')),
}
