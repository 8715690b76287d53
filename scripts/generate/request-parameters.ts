import { banner, resolved, type Document, type Schema } from './document.ts'

/** The allowed values of a parameter; an absent bound does not limit it. */
type Bounds = { values?: string[]; minimum?: number; maximum?: number }

/**
 * The text of `request-parameters.ts`: the parameters of calls with the contract's values and bounds,
 * which apply to every model.
 */
export function requestParametersFile(document: Document): string {
  const { schemas } = document.components
  const of = (...names: string[]) =>
    Object.assign({}, ...names.map((name) => parametersIn(document, schemas[name]!))) as object
  const configs = Object.keys(schemas).filter((name) => /^ImageConfig\w/.test(name))
  const parameters = {
    chat: of('CreateChatCompletionRequest'),
    image: of('CreateImageEditRequest', 'CreateImageRequest'),
    embedding: of('CreateEmbeddingRequest'),
    image_config: Object.fromEntries(configs.map((name) => [name, of(name)])),
  }
  return `${banner}
export type RequestParameter = { values?: string[]; minimum?: number; maximum?: number }
type Parameters = Readonly<Record<string, RequestParameter>>

/** The parameters of calls, with the values that the contract allows for every model. */
export const requestParameters: {
  chat: Parameters
  image: Parameters
  embedding: Parameters
  image_config: Readonly<Record<string, Parameters>>
} = ${JSON.stringify(parameters, null, 2)}
`
}

function parametersIn(document: Document, { properties }: Schema): Record<string, Bounds> {
  const all = Object.entries(properties as Record<string, Schema>)
  return Object.fromEntries(all.map(([name, schema]) => [name, boundsOf(document, schema)]))
}

function boundsOf(document: Document, schema: Schema): Bounds {
  const { anyOf = [], ...own } = resolved(document, schema)
  const choices = (anyOf as Schema[]).filter(({ type }) => type !== 'null')
  // A parameter of several types has no common bounds.
  if (choices.length > 0) return choices.length === 1 ? boundsOf(document, choices[0]!) : {}
  const { enum: listed, minimum, maximum, minItems, maxItems } = own as Record<string, never>
  const values = own['type'] === 'string' ? listed : undefined
  const bounds = { values, minimum: minimum ?? minItems, maximum: maximum ?? maxItems }
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined))
}
