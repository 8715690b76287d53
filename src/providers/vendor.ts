import type { ChatRequest, NativeRequest } from '../core/chat/chat.ts'
import type { CostForm } from '../core/money/cost-export.ts'
import type { ImageConfigSchema, Target } from '../core/model.ts'
import type { Provider } from '../core/route.ts'
import type { ChatDialect } from './openai-compatible/dialect.ts'
import type { Endpoint } from './transport/endpoint.ts'
import type { WrittenChat } from './wire/fields.ts'

/** A vendor: its configuration and its adapters. */
export type Vendor = {
  id: string
  name: string
  /** The first variable that is set holds the key, or several keys separated by commas. */
  keyVariables: readonly string[]
  keyPrefixes?: readonly string[]
  baseUrlVariable: string
  /** The base address; `{NAME}` is the value of that variable. */
  baseUrl: string
  /** The header that carries the key; a bearer token when absent. */
  keyHeader?: string
  /** The scheme of the key in the header `authorization`; `Bearer` when absent. */
  keyScheme?: string
  /** The scope of the vendor's tokens: its key is the JSON file of a service account, which is exchanged for them. */
  tokenScope?: string
  /** Text in the body of a 400 that means that the key is invalid. */
  badKeyMark?: string
  /** The path of the model list, a free request that also shows whether the key is valid. */
  modelsPath: string
  /** The vendor has no list of models: `modelsPath` is another free request that needs a key. */
  listsModels?: false
  /** The origin of `modelsPath`, if it differs from the origin of `baseUrl`. */
  modelsOrigin?: string
  /** The path of the model list is below the origin of the base address. */
  modelsAtOrigin?: true
  modelsHeaders?: Readonly<Record<string, string>>
  /** Reads the names in the model list; when absent, the list has OpenAI's form. */
  modelNames?: (list: object) => readonly unknown[]
  /** Prefixes of the vendor's model names besides its id. */
  namePrefixes?: readonly string[]
  /** The vendor's name in the semantic conventions of OpenTelemetry; its id when absent. */
  traceName?: string
  /** When the vendor's answers show the model's reasoning; always when absent. */
  thoughtsShown?: 'asked' | 'never'
  /** Whether any model name is forwarded, since the catalog does not list its models. */
  anyModel?: true
  /** Whether the vendor has no chats: its models without a description make pictures. */
  onlyPictures?: true
  /** An API of the gateway that the vendor has too. */
  nativeApi?: NativeRequest['api']
  /** The forms of the vendor's cost exports. */
  costForms?: readonly CostForm[]
  /** The vendor whose models it has: those of the same name have their abilities and prices. */
  modelsOf?: string
  /** The contract schema of `image_config` for the vendor's models. */
  imageConfig: ImageConfigSchema
  /** How the vendor's chat differs from OpenAI's; absent for a vendor with its own protocol. */
  dialect?: ChatDialect
  /** Translates a request to the vendor's format, with problems and warnings. */
  writeChat(request: ChatRequest, target: Target): WrittenChat<object>
  build(endpoint: Endpoint): Provider
}

/** A variable in a base address. */
export const addressPart = /\{(\w+)\}/g

/** The names of all variables that configure a vendor. */
export function variablesOf({ keyVariables, baseUrlVariable, baseUrl }: Vendor): string[] {
  const parts = baseUrl.matchAll(addressPart).map(([, name = '']) => name)
  return [...keyVariables, baseUrlVariable, ...parts]
}
