import { resolved, type Document, type Schema } from './document.ts'

/** Members whose values contain no schemas. */
const noSchemas = new Set(['example', 'examples', 'default', 'enum', 'links'])

/**
 * A copy of the document in which enumerations of answers are open, so that a value which a later version adds breaks no
 * client that was made from this one: `anyOf` of the values and of any string. Closed stay enumerations of what a
 * request can also contain, those by which the alternatives of a union are told apart, those of objects that stand in a
 * union beside objects of requests, since clients send such a union back, and booleans as texts.
 */
export function openAnswers<T extends Document>(document: T): T {
  const copy = structuredClone(document)
  const { paths, webhooks = {} } = copy as Document & { webhooks?: Document['paths'] }
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  const requests = reached(
    copy,
    operations.map(({ parameters, requestBody }) => [parameters, requestBody]),
  )
  const answers = reached(copy, [operations.map(({ responses }) => responses), webhooks])
  const closed = new Set([...answers].flatMap((schema) => closedIn(copy, schema, requests)))
  for (const schema of answers) {
    if (requests.has(schema) || Array.isArray(schema)) continue
    const { properties = {}, anyOf } = schema as { properties?: Schemas; anyOf?: Schema[] }
    for (const holder of [schema as Schemas, properties])
      for (const [name, inner] of Object.entries(holder))
        if (isEnumeration(copy, inner) && !closed.has(inner)) holder[name] = opened(copy, inner)
    if (isUnionOfEnumerations(copy, anyOf)) {
      const last = anyOf.findLastIndex(({ type }) => type !== 'null')
      anyOf.splice(last + 1, 0, { type: 'string' })
    }
  }
  return copy
}

type Schemas = Record<string, Schema>

/** All objects that a value contains or refers to. */
function reached(document: Document, value: unknown): Set<object> {
  const found = new Set<object>()
  const visit = (one: unknown): void => {
    if (typeof one !== 'object' || one === null || found.has(one)) return
    found.add(one)
    const { $ref: reference } = one as Schema
    if (typeof reference === 'string') visit(targetOf(document, reference))
    for (const [name, inner] of Object.entries(one)) {
      if (name === 'properties') Object.values(inner as object).forEach(visit)
      else if (!noSchemas.has(name)) visit(inner)
    }
  }
  visit(value)
  return found
}

function targetOf(document: Document, reference: string): unknown {
  const names = reference.slice(2).split('/')
  return names.reduce<unknown>((value, name) => (value as Schema)[name], document)
}

/** The enumerations in the alternatives of a union that stay closed. */
function closedIn(document: Document, schema: object, requests: ReadonlySet<object>): Schema[] {
  const { anyOf = [], oneOf = [] } = schema as { anyOf?: Schema[]; oneOf?: Schema[] }
  const alternatives = [...anyOf, ...oneOf]
    .map((one) => resolved(document, one))
    .filter((one) => one['properties'] !== undefined)
  if (alternatives.length < 2) return []
  const isSentBack = alternatives.some((one) => requests.has(one))
  const properties = alternatives.map((one) => one['properties'] as Schemas)
  return [...new Set(properties.flatMap(Object.keys))].flatMap((name) => {
    const members = properties.flatMap((one): Schema[] => (one[name] ? [one[name]] : []))
    const lists = members.flatMap((one) => {
      const { enum: values } = resolved(document, one)
      return Array.isArray(values) ? [values] : []
    })
    const isTag = lists.length > 1 && new Set(lists.flat()).size === lists.flat().length
    return isSentBack || isTag ? members.filter((one) => isEnumeration(document, one)) : []
  })
}

function isEnumeration(document: Document, schema: unknown): schema is Schema {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return false
  const { $ref: reference } = schema as Schema
  const target = typeof reference === 'string' ? targetOf(document, reference) : schema
  const { enum: values, type } = target as Schema
  const isList = Array.isArray(values) && values.length > 1 && type === 'string'
  return isList && !values.includes('true')
}

/** Whether a union is that of an enumeration and null or further values. */
function isUnionOfEnumerations(document: Document, union: Schema[] | undefined): union is Schema[] {
  if (!union?.some((one) => isEnumeration(document, one))) return false
  return union.every((one) => one['type'] === 'null' || 'enum' in resolved(document, one))
}

function opened(document: Document, schema: Schema): Schema {
  const { $ref: reference, type, enum: values, ...rest } = schema
  if (reference === undefined)
    return { ...rest, anyOf: [{ type, enum: values }, { type: 'string' }] }
  const { description } = resolved(document, schema)
  const described = description === undefined ? {} : { description }
  return { ...described, ...rest, anyOf: [{ $ref: reference }, { type: 'string' }] }
}
