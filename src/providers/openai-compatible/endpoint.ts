import type { Endpoint } from '../transport/endpoint.ts'
import type { ChatDialect } from './dialect.ts'
import type { ImageDialect } from './image-dialect.ts'

/** An endpoint that speaks OpenAI's protocol, with its deviations. */
export type OpenAiEndpoint = Endpoint & {
  /** How its chat differs from OpenAI's. */
  dialect?: ChatDialect
  /** How its pictures differ. */
  imageDialect?: ImageDialect
}
