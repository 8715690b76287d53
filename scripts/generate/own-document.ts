import type { Document, Schema } from './document.ts'

type Schemas = Record<string, Schema>

/**
 * The contract as the gateway's own code takes it: with the schemas of the catalog's files, and with
 * the default of a named schema beside each property that refers to it. There Ajv fills it in, and
 * openapi-typescript sees that the property is always present, as is a parameter with a default.
 */
export function ownDocument(document: Document, catalog: Schemas): Document {
  const schemas = { ...document.components.schemas, ...rebased(catalog) }
  // Only properties and parameters with a default change.
  return withDefaults({ ...document, components: { ...document.components, schemas } }, schemas)
}

/** The schemas of catalog.yaml with references that lead into the document they are put into. */
function rebased(catalog: Schemas): Schemas {
  const text = JSON.stringify(catalog)
    .replaceAll('"#/', '"#/components/schemas/')
    .replaceAll('"openapi.yaml#/', '"#/')
  // Only the texts of references change.
  return JSON.parse(text) as Schemas
}

function withDefaults<T>(value: T, schemas: Schemas): T {
  if (typeof value !== 'object' || value === null) return value
  // Of the same shape, but for the defaults.
  if (Array.isArray(value)) return value.map((item) => withDefaults(item, schemas)) as T
  const entries = Object.entries(value).map(([key, inner]: [string, unknown]) => [
    key,
    key === 'properties' ? mapped(Object(inner), schemas) : withDefaults(inner, schemas),
  ])
  const copy: object = Object.fromEntries(entries)
  return (isParameterWithDefault(copy) ? { ...copy, required: true } : copy) as T
}

/** A parameter whose default the check fills in, so that a handler always has it. */
function isParameterWithDefault(value: object): boolean {
  return 'in' in value && 'schema' in value && 'default' in Object(value.schema)
}

function mapped(properties: Schemas, schemas: Schemas): Schemas {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const named = schemas[String(property['$ref']).split('/').at(-1)!]
      const more = named !== undefined && 'default' in named ? { default: named['default'] } : {}
      return [name, { ...withDefaults(property, schemas), ...more }]
    }),
  )
}
