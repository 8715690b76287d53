import { _, type CodeKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js'
import type { Document, Schema } from './document.ts'

/**
 * The keyword by which a check takes members that are null out of an object, before it looks at
 * them: null is absent, whatever the member (docs/behaviour.md#errors). It has no type, since
 * Ajv runs such keywords before it fills defaults.
 */
export const absentNulls = {
  keyword: 'x-absent-nulls',
  before: 'anyOf',
  code: ({ gen, data, schema }: KeywordCxt) => {
    // A list names the members whose null says something.
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

/** The document with the keyword in each object that the bodies hold; free-form ones stay. */
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
  // Only the keyword is added.
  const found = Object.fromEntries(marked) as Document['components']['schemas']
  return { ...document, components: { ...document.components, schemas: found } }
}

/** A schema with the keyword in each object that it describes. */
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
