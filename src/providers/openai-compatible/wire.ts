import type { ImageCall } from '../../core/image.ts'
import type { UpstreamRequest } from '../dispatch.ts'
import type { Endpoint } from '../endpoint.ts'

/** An endpoint that speaks OpenAI's protocol, and what is particular about it. */
export type OpenAiEndpoint = Endpoint & {
  /** What image requests carry beyond OpenAI's fields. */
  imageFields?: (call: ImageCall) => object
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
