import type { Document, Schema } from './document.ts'

type Schemas = Record<string, Schema>

/**
 * The contract for the gateway's own code: it also has the schemas of the catalog, and copies the default
 * of a schema to each property that refers to it. There Ajv fills the default in, and openapi-typescript
 * makes the property required. Parameters with a default are required too.
 */
export function ownDocument(document: Document, catalog: Schemas): Document {
  const schemas = { ...document.components.schemas, ...rebased(catalog) }
  // The cast is safe: only properties and parameters with a default change.
  return withDefaults({ ...document, components: { ...document.components, schemas } }, schemas)
}

/** The schemas of catalog.yaml with their references pointing into the contract. */
function rebased(catalog: Schemas): Schemas {
  const text = JSON.stringify(catalog)
    .replaceAll('"#/', '"#/components/schemas/')
    .replaceAll('"openapi.yaml#/', '"#/')
  // The cast is safe, since only texts of references are replaced.
  return JSON.parse(text) as Schemas
}

function withDefaults<T>(value: T, schemas: Schemas): T {
  if (typeof value !== 'object' || value === null) return value
  // The result has the shape of the argument, plus defaults.
  if (Array.isArray(value)) return value.map((item) => withDefaults(item, schemas)) as T
  const entries = Object.entries(value).map(([key, inner]: [string, unknown]) => [
    key,
    key === 'properties' ? mapped(Object(inner), schemas) : withDefaults(inner, schemas),
  ])
  const copy: object = Object.fromEntries(entries)
  return (isParameterWithDefault(copy) ? { ...copy, required: true } : copy) as T
}

/** Whether the check fills in this parameter's default, so that a handler always has it. */
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
