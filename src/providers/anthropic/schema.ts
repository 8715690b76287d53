import { schemaComplaint } from '../../core/chat/json-schema.ts'

type Schema = Record<string, unknown>

/** A schema as Anthropic takes it, and the keywords that it only reads. */
export type NarrowSchema = { schema: Schema; told: string[] }

/**
 * A JSON Schema in the part of that language to which Anthropic can hold an answer (as its SDK's
 * `transformJSONSchema` has it): objects are closed, and bounds become words. Undefined for what it
 * cannot be held to at all: values of any kind, several schemas at once, and those that contain themselves.
 */
export function narrowSchema(schema: object): NarrowSchema | undefined {
  if (schemaComplaint(schema) !== undefined || !comesToAnEnd(schema as Schema)) return undefined
  const told = new Set<string>()
  try {
    return { schema: narrow(schema, told), told: [...told] }
  } catch (error) {
    if (error instanceof NotNarrow) return undefined
    throw error
  }
}

class NotNarrow extends Error {}

/** Taken as they are. */
const plain: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'required',
  'default',
  '$ref',
])
/** They bind no value. */
const idle: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'examples'])
/** One of them at least says what a value is. */
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

function narrow(value: unknown, told: Set<string>): Schema {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new NotNarrow()
  const schema = value as Schema
  const narrowed: Schema = {}
  const words: string[] = []
  for (const [keyword, given] of Object.entries(schema)) {
    if (idle.has(keyword)) continue
    const isSecond = keyword === 'oneOf' && schema['anyOf'] !== undefined
    const kept = isSecond ? undefined : keep(keyword, given, told)
    if (kept !== undefined) {
      narrowed[keyword === 'oneOf' ? 'anyOf' : keyword] = kept
    } else {
      told.add(keyword)
      words.push(`${keyword}: ${JSON.stringify(given)}`)
    }
  }
  if (narrowed['enum'] !== undefined && Array.isArray(narrowed['type'])) delete narrowed['type']
  if (narrowed['properties'] !== undefined) narrowed['type'] ??= 'object'
  if ([narrowed['type']].flat().includes('object')) {
    // Closed, an object of any names would be one of none.
    if (narrowed['properties'] === undefined) throw new NotNarrow()
    narrowed['additionalProperties'] = false
  }
  if (!binding.some((keyword) => narrowed[keyword] !== undefined)) throw new NotNarrow()
  if (words.length === 0) return narrowed
  const { description } = schema
  const before = typeof description === 'string' ? `${description}\n\n` : ''
  return { ...narrowed, description: `${before}{${words.join(', ')}}` }
}

/** A keyword's value as it is sent; undefined when it can only be told. */
function keep(keyword: string, given: unknown, told: Set<string>): unknown {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return Object.fromEntries(
        Object.entries(given as Schema).map(([name, one]) => [name, narrow(one, told)]),
      )
    case 'anyOf':
    case 'oneOf':
      return (given as unknown[]).map((one) => narrow(one, told))
    case 'allOf':
      // Of several closed objects no value is all.
      if ((given as unknown[]).length > 1) throw new NotNarrow()
      return (given as unknown[]).map((one) => narrow(one, told))
    case 'items':
      return narrow(given, told)
    case 'enum':
      return (given as unknown[]).every(isScalar) ? given : undefined
    case 'const':
      return isScalar(given) ? given : undefined
    case 'additionalProperties':
      return given === false ? given : undefined
    case 'format':
      return formats.has(given) ? given : undefined
    case 'minItems':
      return given === 0 || given === 1 ? given : undefined
    default:
      return plain.has(keyword) ? given : undefined
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** Whether following its references comes to an end, within the schema. */
function comesToAnEnd(root: Schema): boolean {
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

/** What a reference within the schema names (RFC 6901). */
function resolve(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  const names = reference.slice(2).split('/')
  return names.reduce<unknown>((node, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    return (node as Schema)[key]
  }, root)
}
