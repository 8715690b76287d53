import { nearName } from '../core/words/near-name.ts'
import { parseBody } from '../http/parse-json.ts'

/** The keywords of a schema of `tools/list` that are read here; a value of a schema without a type is left unchanged. */
export type InputSchema = {
  $ref?: string
  type?: string
  enum?: readonly unknown[]
  items?: InputSchema
  properties?: Readonly<Record<string, InputSchema>>
  required?: readonly string[]
  anyOf?: readonly InputSchema[]
}

/**
 * Reads the arguments of a call as clients mean them (docs/tool-protocol.md#arguments-of-clients): JSON in a string where the
 * schema has another type is parsed; null and, for an optional argument, an empty string mean absent; unknown members
 * are left out. A name that is near a known one stays, and the check refuses it: it may be a misspelt option that
 * changes what the caller pays for.
 */
export function readArguments(input: object, schema: InputSchema) {
  /** The paths of members that the schema does not have. */
  const ignored: string[] = []
  return { input: readObject(input, schema, { path: '', ignored }), ignored }
}

type Place = { path: string; ignored: string[] }

function read(value: unknown, schema: InputSchema, place: Place): unknown {
  if (schema.type === undefined && schema.anyOf === undefined) return value
  const choices = schema.anyOf ?? [schema]
  const type = typeOf(value)
  const fitting = choices.filter((choice) => fits(type, choice))
  if (typeof value === 'string' && fitting.length === 0) {
    const parsed = parsedJson(value)
    return parsed === undefined || typeof parsed === 'string' ? value : read(parsed, schema, place)
  }
  const chosen = fitting.find((choice) => isOfKind(value, choice)) ?? fitting[0]
  if (chosen === undefined) return value
  const { items } = chosen
  if (Array.isArray(value) && items !== undefined) {
    const { path } = place
    return value.map((one, at) => read(one, items, { ...place, path: `${path}[${at}]` }))
  }
  return type === 'object' ? readObject(value as object, chosen, place) : value
}

function readObject(
  input: object,
  { properties, required = [] }: InputSchema,
  { path, ignored }: Place,
): object {
  if (properties === undefined) return input
  const names = Object.keys(properties)
  const members = Object.entries(input).flatMap(([name, one]): [string, unknown][] => {
    const member = path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(properties, name)) {
      if (nearName(name, names) !== undefined) return [[name, one]]
      ignored.push(member)
      return []
    }
    const value = read(one, properties[name]!, { path: member, ignored })
    const isUnset = value === '' && path === '' && !required.includes(name)
    return value === null || isUnset ? [] : [[name, value]]
  })
  return Object.fromEntries(members)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function fits(type: string, { type: wanted }: InputSchema): boolean {
  return type === wanted || (type === 'number' && wanted === 'integer')
}

/** Whether the `type` member of an object is that of a choice, such as `image_url`. */
function isOfKind(value: unknown, { properties }: InputSchema): boolean {
  const kinds = properties?.['type']?.enum
  return kinds === undefined || kinds.includes((value as { type?: unknown } | null)?.type)
}

/** The value of a JSON text; undefined if it is not JSON, or exceeds the bounds of a body. */
export function parsedJson(text: string): unknown {
  try {
    return parseBody(Buffer.from(text))
  } catch {
    return undefined
  }
}
