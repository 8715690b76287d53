import type { ChatRequest } from '../core/chat/chat.ts'
import type { ImageConfigSchema } from '../core/image/chat-to-image.ts'
import type { Target } from '../core/model.ts'
import type { Provider } from '../core/route.ts'
import type { ChatDialect } from './openai-compatible/dialect.ts'
import type { Endpoint } from './transport/endpoint.ts'
import type { WrittenChat } from './wire/fields.ts'

/** A vendor: its configuration and its adapters. */
export type Vendor = {
  id: string
  name: string
  /** The first one that is set holds the key, or several separated by commas. */
  keyVariables: readonly string[]
  /** What its keys begin with, as far as is known. */
  keyPrefixes?: readonly string[]
  baseUrlVariable: string
  baseUrl: string
  /** The header that carries the key; a bearer token when absent. */
  keyHeader?: string
  /** Text in the body of a 400 that means that the key is invalid. */
  badKeyMark?: string
  /** Lists the models: a free request that shows whether the key is valid. */
  modelsPath: string
  /** Headers that asking for it needs besides the key. */
  modelsHeaders?: Readonly<Record<string, string>>
  /** The names in that list; those of OpenAI's form when absent. */
  modelNames?: (list: object) => readonly unknown[]
  /** What others write in front of its models' names, besides its id. */
  namePrefixes?: readonly string[]
  /** Its name in the semantic conventions of OpenTelemetry; its id when absent. */
  traceName?: string
  /** When its answers show how a model reasoned; always when absent. */
  thoughtsShown?: 'asked' | 'never'
  /** Its models are not in the catalog: any name is passed on. */
  anyModel?: true
  /** The contract schema of `image_config` for its models. */
  imageConfig: ImageConfigSchema
  /** How its chat differs from OpenAI's; absent for a vendor with a protocol of its own. */
  dialect?: ChatDialect
  /** The request in the vendor's format, and what that format cannot express. */
  writeChat(request: ChatRequest, target: Target): WrittenChat<object>
  build(endpoint: Endpoint): Provider
}
