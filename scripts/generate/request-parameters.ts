import { banner, resolved, type Document, type Schema } from './document.ts'

/** The type and the allowed values of a parameter; an absent bound does not limit it. */
type Bounds = { type?: string; values?: string[]; minimum?: number; maximum?: number }

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
    image_config: Object.fromEntries(
      configs.map((name) => [name, configIn(document, schemas[name]!)]),
    ),
  }
  return `${banner}
export type RequestParameter = {
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'
  values?: string[]
  minimum?: number
  maximum?: number
}
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

/** The parameters of an `image_config`, and the members of its objects by their paths. */
function configIn(document: Document, schema: Schema): Record<string, Bounds> {
  const outer = parametersIn(document, schema)
  const inner = Object.entries(schema['properties'] as Record<string, Schema>).flatMap(
    ([name, member]) => {
      const { properties } = resolved(document, member)
      const found = properties === undefined ? {} : parametersIn(document, { properties })
      return Object.entries(found).map(([path, bounds]) => [`${name}.${path}`, bounds] as const)
    },
  )
  return { ...outer, ...Object.fromEntries(inner) }
}

function boundsOf(document: Document, schema: Schema): Bounds {
  const { anyOf = [], ...own } = resolved(document, schema)
  const choices = (anyOf as Schema[]).filter(({ type }) => type !== 'null')
  if (choices.length === 1) return boundsOf(document, choices[0]!)
  if (choices.length > 1) {
    // A parameter of several schemas has no common bounds.
    const types = new Set(choices.map((choice) => boundsOf(document, choice).type))
    const [common] = types
    return types.size === 1 && common !== undefined ? { type: common } : {}
  }
  const { enum: listed, minimum, maximum, minItems, maxItems } = own as Record<string, never>
  const type = [own['type']].flat().find((one) => one !== 'null') as string | undefined
  const values = type === 'string' ? listed : undefined
  const bounds = { type, values, minimum: minimum ?? minItems, maximum: maximum ?? maxItems }
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined))
}
