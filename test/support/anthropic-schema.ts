import { allowOnly, Refused } from './spoken.ts'

const schemaKeywords = [
  'type',
  'title',
  'description',
  'default',
  'required',
  'properties',
  'additionalProperties',
  'items',
  'minItems',
  'enum',
  'const',
  'format',
  'anyOf',
  'allOf',
  '$ref',
  '$defs',
  'definitions',
]

/** Checks a schema for structured output, as the vendor does. Throws a Refused. */
export function checkSchema(schema: unknown, where = 'schema'): void {
  allowOnly(schema, schemaKeywords, where, 'invalid_request_error')
  const { type, properties, additionalProperties, items, anyOf, allOf, $defs, minItems } = schema
  const isObject = [type].flat().includes('object')
  if (isObject && additionalProperties !== false) {
    throw new Refused(
      400,
      'invalid_request_error',
      `${where}: additionalProperties must be set to false`,
    )
  }
  if (Number(minItems ?? 0) > 1)
    throw new Refused(400, 'invalid_request_error', `${where}: minItems`)
  const inner = [properties, $defs, anyOf, allOf, items === undefined ? undefined : { items }]
  for (const one of inner.flatMap((schemas) => Object.values(schemas ?? {}) as unknown[])) {
    checkSchema(one, where)
  }
}
