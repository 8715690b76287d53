import { isMembers } from '../any-json.ts'
const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const depthMax = 64

/** Keywords that hold one schema, several by name, or several in a list. */
const single = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains']
const named = ['properties', 'patternProperties', '$defs', 'definitions']
const listed = ['anyOf', 'oneOf', 'allOf', 'prefixItems']

/** Why a value is not a JSON Schema (draft 2020-12, common keywords only); undefined if it is. */
export function schemaComplaint(schema: unknown, path = '', depth = 0): string | undefined {
  const at = path === '' ? 'it' : `'${path}'`
  if (typeof schema === 'boolean') return undefined
  if (!isMembers(schema)) return `${at} must be an object.`
  if (depth > depthMax) return `${at} is nested too deeply.`
  const own = keywordComplaint(schema, at)
  if (own !== undefined) return own
  for (const [name, inner] of innerSchemas(schema)) {
    const complaint = schemaComplaint(inner, path === '' ? name : `${path}.${name}`, depth + 1)
    if (complaint !== undefined) return complaint
  }
  return undefined
}

function keywordComplaint(schema: Record<string, unknown>, at: string): string | undefined {
  const { type, required, enum: values, $ref: reference } = schema
  const wrong = type === undefined ? undefined : [type].flat().find((one) => !isType(one))
  if (wrong !== undefined) return `the type ${JSON.stringify(wrong)} of ${at} is not known.`
  if (required !== undefined && !isTexts(required)) return `'required' of ${at} must list names.`
  if (values !== undefined && !Array.isArray(values)) return `'enum' of ${at} must be a list.`
  if (reference !== undefined && typeof reference !== 'string') {
    return `'$ref' of ${at} must be a text.`
  }
  const record = named.find((key) => schema[key] !== undefined && !isMembers(schema[key]))
  if (record !== undefined) return `'${record}' of ${at} must be an object.`
  const list = listed.find((key) => schema[key] !== undefined && !isFilled(schema[key]))
  return list === undefined ? undefined : `'${list}' of ${at} must be a list of schemas.`
}

function innerSchemas(schema: Record<string, unknown>): [string, unknown][] {
  return [
    ...single.flatMap((key): [string, unknown][] => {
      // Drafts before 2020-12 allow a list in `items`.
      if (Array.isArray(schema[key])) return entriesOf(key, schema[key])
      return schema[key] === undefined ? [] : [[key, schema[key]]]
    }),
    ...[...named, ...listed].flatMap((key) => entriesOf(key, schema[key] ?? {})),
  ]
}

function entriesOf(key: string, inner: object): [string, unknown][] {
  return Object.entries(inner).map(([name, one]) => [`${key}.${name}`, one])
}

function isType(value: unknown): boolean {
  return typeof value === 'string' && types.has(value)
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
