import type { ChatRequest } from '../core/chat/chat.ts'
import type { ImageConfigSchema } from '../core/image/chat-to-image.ts'
import type { Target } from '../core/model.ts'
import type { Provider } from '../core/route.ts'
import type { ChatDialect } from './openai-compatible/dialect.ts'
import type { Endpoint } from './transport/endpoint.ts'
import type { WrittenChat } from './wire/fields.ts'

/** A vendor: how it is configured, and how it is spoken to. */
export type Vendor = {
  id: string
  name: string
  /** The first that is set holds the key, or several separated by commas. */
  keyVariables: readonly string[]
  baseUrlVariable: string
  baseUrl: string
  /** The header of the key; a bearer token when it is absent. */
  keyHeader?: string
  /** What an answer of status 400 says when the key is a bad one. */
  badKeyMark?: string
  /** Where it lists its models: asking costs nothing, and shows whether the key is good. */
  modelsPath: string
  /** The catalog lists none of its models: any name is passed on. */
  anyModel?: true
  /** The schema of `image_config` for its models. */
  imageConfig: ImageConfigSchema
  /** In what its chat differs from OpenAI's; absent where it has another protocol. */
  dialect?: ChatDialect
  /** A conversation in its words, and what cannot be said in them. */
  writeChat(request: ChatRequest, target: Target): WrittenChat<object>
  build(endpoint: Endpoint): Provider
}
