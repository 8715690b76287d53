import { _, type CodeKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js'
import type { Document, Schema } from './document.ts'

/**
 * A keyword that removes members with value null from an object before they are checked, because null
 * means absent (docs/behaviour.md#errors). It has no `type`: Ajv runs keywords without a type before it
 * fills defaults.
 */
export const absentNulls = {
  keyword: 'x-absent-nulls',
  before: 'not',
  code: ({ gen, data, schema }: KeywordCxt) => {
    // A list names the members that keep null, because their null has a meaning.
    const kept = Array.isArray(schema) ? (schema as string[]) : []
    const isObject = _`${data} && typeof ${data} == "object" && !Array.isArray(${data})`
    gen.if(isObject, () =>
      gen.forIn('name', data, (name) => {
        const isNull = _`${data}[${name}] === null`
        const isDropped = kept.reduce((all, one) => _`${all} && ${name} !== ${one}`, isNull)
        gen.if(isDropped, () => gen.code(_`delete ${data}[${name}]`))
      }),
    )
  },
} satisfies CodeKeywordDefinition

/** The document with the keyword in each object schema that bodies use, except free-form objects. */
export function withAbsentNulls(document: Document, bodies: readonly Schema[]): Document {
  const { schemas } = document.components
  const reached = new Set<string>()
  const reach = (part: unknown): void => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (reached.has(name!)) continue
      reached.add(name!)
      reach(schemas[name!])
    }
  }
  reach(bodies)
  const marked = Object.entries(schemas).map(([name, schema]) => [
    name,
    reached.has(name) ? mark(schema) : schema,
  ])
  // The cast is safe, since `mark` only adds a keyword.
  const found = Object.fromEntries(marked) as Document['components']['schemas']
  return { ...document, components: { ...document.components, schemas: found } }
}

/** A schema with the keyword in each of its object schemas. */
export function mark(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mark)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.entries(value).map(([name, one]) => [name, mark(one)])
  const schema = Object.fromEntries(inner) as Schema
  const { properties, type } = schema
  if (type !== 'object' || properties === undefined) return schema
  const kept = Object.entries(properties as Record<string, Schema>)
    .filter(([, member]) => member['x-null-is-kept'] === true)
    .map(([name]) => name)
  return { ...schema, [absentNulls.keyword]: kept.length === 0 || kept }
}
