import type { ImageCall } from '../../core/image.ts'
import type { Dispatch, UpstreamRequest } from '../dispatch.ts'

/** One OpenAI-shaped endpoint, and what is particular about it. */
export type Endpoint = {
  id: string
  dispatch: Dispatch
  /** Used in turn; none is sent when there are none. */
  keys: readonly string[]
  /** What image requests carry beyond OpenAI's fields. */
  imageFields?: (call: ImageCall) => object
  limits: UpstreamLimits
}
export type UpstreamLimits = {
  headersTimeoutMs: number
  idleTimeoutMs: number
  answerBytesMax: number
}

/** Builds requests to the endpoint, with its keys in rotation. */
export function requestsTo({
  keys,
  limits,
}: Endpoint): (path: string, body: unknown) => UpstreamRequest {
  const contentType = { 'content-type': 'application/json' }
  const headers = keys.map((key) => ({ ...contentType, authorization: `Bearer ${key}` }))
  let turn = 0
  return (path, body) => ({
    method: 'POST',
    path,
    headers: headers[turn++ % headers.length] ?? contentType,
    body: JSON.stringify(body),
    headersTimeoutMs: limits.headersTimeoutMs,
    idleTimeoutMs: limits.idleTimeoutMs,
  })
}
