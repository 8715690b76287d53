import { isMembers } from '../../core/any-json.ts'
import { schemaComplaint } from '../../core/chat/json-schema.ts'

type Schema = Record<string, unknown>

/** A schema in Anthropic's subset; `moved` lists the keywords that moved into descriptions. */
export type NarrowSchema = { schema: Schema; moved: string[] }

/**
 * A JSON Schema in the subset that Anthropic enforces (as its SDK's `transformJSONSchema` does it):
 * objects are closed, and bounds move into descriptions. Undefined for a schema that the subset
 * cannot express: values of any kind, maps, several schemas at once (`allOf`), and recursion.
 */
export function narrowSchema(schema: object): NarrowSchema | undefined {
  // Any object can be read as a record of unknown values.
  if (schemaComplaint(schema) !== undefined || !hasFiniteReferences(schema as Schema))
    return undefined
  const moved = new Set<string>()
  try {
    return { schema: narrow(schema, moved), moved: [...moved] }
  } catch (error) {
    if (error instanceof NotNarrow) return undefined
    throw error
  }
}

class NotNarrow extends Error {}

/** Keywords that are sent unchanged. */
const plain: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'required',
  'default',
  '$ref',
])
/** Annotations that are not sent. */
const idle: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'examples'])
/** At least one of these must remain: Anthropic refuses a schema that allows any value. */
const binding = ['type', 'enum', 'const', 'anyOf', 'allOf', '$ref']
const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])

function narrow(value: unknown, moved: Set<string>): Schema {
  if (!isMembers(value)) throw new NotNarrow()
  const schema: Schema = value
  const narrowed: Schema = {}
  const words: string[] = []
  for (const [keyword, wide] of Object.entries(schema)) {
    if (idle.has(keyword)) continue
    const isSecond = keyword === 'oneOf' && schema['anyOf'] !== undefined
    const kept = isSecond ? undefined : narrowKeyword(keyword, wide, moved)
    if (kept !== undefined) {
      narrowed[keyword === 'oneOf' ? 'anyOf' : keyword] = kept
    } else {
      moved.add(keyword)
      words.push(`${keyword}: ${JSON.stringify(wide)}`)
    }
  }
  if (narrowed['enum'] !== undefined && Array.isArray(narrowed['type'])) delete narrowed['type']
  if (narrowed['properties'] !== undefined) narrowed['type'] ??= 'object'
  if ([narrowed['type']].flat().includes('object')) {
    const { properties } = narrowed
    // Closing a map, or an object without `properties`, would allow only `{}`.
    if (typeof properties !== 'object' || isMap(schema, properties!)) throw new NotNarrow()
    narrowed['additionalProperties'] = false
  }
  if (!binding.some((keyword) => narrowed[keyword] !== undefined)) throw new NotNarrow()
  if (words.length === 0) return narrowed
  const { description } = schema
  const before = typeof description === 'string' ? `${description}\n\n` : ''
  return { ...narrowed, description: `${before}{${words.join(', ')}}` }
}

/** Whether an object is for members without names: members of a certain kind, or any members and none with a name. */
function isMap(schema: Schema, properties: object): boolean {
  const isEmpty = Object.keys(properties).length === 0
  return ['additionalProperties', 'patternProperties', 'unevaluatedProperties'].some((keyword) => {
    const { [keyword]: members = false } = schema
    return Object.keys(Object(members) as object).length > 0 || (isEmpty && members !== false)
  })
}

/** The value to send for a keyword; undefined when it moves into the description. */
function narrowKeyword(keyword: string, wide: unknown, moved: Set<string>): unknown {
  // schemaComplaint has checked that these keywords hold an object or a list.
  const [record, list] = [wide as Schema, wide as unknown[]]
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return Object.fromEntries(
        Object.entries(record).map(([name, one]) => [name, narrow(one, moved)]),
      )
    case 'anyOf':
    case 'oneOf':
      return list.map((one) => narrow(one, moved))
    case 'allOf':
      // Several closed objects exclude each other: no value would match all of them.
      if (list.length > 1) throw new NotNarrow()
      return list.map((one) => narrow(one, moved))
    case 'items':
      return narrow(wide, moved)
    case 'enum':
      return list.every(isScalar) ? wide : undefined
    case 'const':
      return isScalar(wide) ? wide : undefined
    case 'additionalProperties':
      return wide === false ? wide : undefined
    case 'format':
      return formats.has(wide) ? wide : undefined
    case 'minItems':
      return wide === 0 || wide === 1 ? wide : undefined
    default:
      return plain.has(keyword) ? wide : undefined
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** Whether every `$ref` points into the schema and none is recursive. */
function hasFiniteReferences(root: Schema): boolean {
  const open = new Set<string>()
  const ended = new Set<string>()
  const ends = (node: unknown): boolean => {
    if (typeof node !== 'object' || node === null) return true
    return Object.entries(node).every(([keyword, inner]) =>
      keyword === '$ref' && typeof inner === 'string' ? referenceEnds(inner) : ends(inner),
    )
  }
  const referenceEnds = (reference: string): boolean => {
    if (ended.has(reference)) return true
    const target = open.has(reference) ? undefined : resolve(root, reference)
    if (target === undefined) return false
    open.add(reference)
    const isEnd = ends(target)
    open.delete(reference)
    if (isEnd) ended.add(reference)
    return isEnd
  }
  return ends(root)
}

/** Resolves a `$ref` within the schema, a JSON pointer (RFC 6901); undefined when it fails. */
function resolve(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  const names = reference.slice(2).split('/')
  return names.reduce<unknown>((node, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    // The line above checks that `node` is an object with this member.
    return (node as Schema)[key]
  }, root)
}
