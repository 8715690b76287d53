import type { ImageCall } from '../../core/image/image.ts'
import type { Endpoint } from '../transport/endpoint.ts'
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
