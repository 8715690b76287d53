import type { ImageCall } from '../../core/image/image.ts'
import type { UpstreamBody, UpstreamRequest } from '../transport/dispatch.ts'
import { bearer, jsonRequests, type Endpoint } from '../transport/endpoint.ts'
import type { ChatDialect } from './dialect.ts'

/** An endpoint that speaks OpenAI's protocol, and what is particular about it. */
export type OpenAiEndpoint = Endpoint & {
  /** In what its chat differs from OpenAI's. */
  dialect?: ChatDialect
  /** What image requests carry beyond OpenAI's fields. */
  imageFields?: (call: ImageCall) => object
  /** How input pictures are sent; as a form unless it is said. */
  edits?: 'json' | 'form' | 'generations'
}

/** Builds requests to the endpoint, with its keys in rotation; `print` writes their bodies. */
export function requestsTo(
  endpoint: Endpoint,
  print?: (body: unknown) => UpstreamBody,
): (path: string, body: unknown) => UpstreamRequest {
  return jsonRequests(endpoint, bearer, print)
}
