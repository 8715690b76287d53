import type { ImageCall } from '../../core/image/image.ts'
import type { Endpoint } from '../transport/endpoint.ts'
import type { ChatDialect } from './dialect.ts'

/** An endpoint that speaks OpenAI's protocol, with its deviations. */
export type OpenAiEndpoint = Endpoint & {
  /** How its chat differs from OpenAI's. */
  dialect?: ChatDialect
  /** Members of image requests beyond OpenAI's fields. */
  imageFields?: (call: ImageCall) => object
  /** How input images are sent: to `/images/edits` as JSON or (default) a form, or not there. */
  edits?: 'json' | 'form' | 'generations'
}
