import type { Document, Schema } from './document.ts'
import { asJson, withoutExtensions } from './published.ts'
import type { SettingsSchema } from './settings.ts'

type Schemas = Record<string, Schema>

/** The published JSON Schemas of gateway.yaml and of a row of the catalog, by file name. */
export function fileSchemas(settings: SettingsSchema, own: Document): Record<string, string> {
  const { schemas } = own.components
  const { CatalogModel: row } = schemas
  const { properties } = settings
  const catalog = { ...properties['catalog'], additionalProperties: entryOf(row!, schemas) }
  const file = { ...settings, properties: described({ ...properties, catalog }) }
  return {
    'schemas/gateway.json': published('gateway', 'The file gateway.yaml', file, {
      ...schemas,
      // A price may be a number there.
      Decimal: { ...schemas['Decimal'], type: ['string', 'number'], minimum: 0 },
    }),
    'schemas/catalog-model.json': published('catalog-model', 'A row of the catalog', row!, schemas),
  }
}

/** A schema with an id that is the same at each gateway, and with the schemas to which it refers. */
function published(name: string, title: string, schema: Schema, all: Schemas): string {
  const used = new Map<string, Schema>()
  const rebased = (value: Schema): Schema => {
    const text = JSON.stringify(withoutExtensions(value))
    for (const [, target = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(target)) continue
      used.set(target, {})
      used.set(target, rebased(all[target]!))
    }
    // The cast is safe, since only texts of references are replaced.
    return JSON.parse(text.replaceAll('"#/components/schemas/', '"#/$defs/')) as Schema
  }
  const root = rebased(schema)
  return asJson({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:model-access-gateway:schemas:${name}`,
    title,
    ...root,
    $defs: Object.fromEntries(used),
  })
}

/** The settings, each with its variable and with the words for what it must be. */
function described(settings: SettingsSchema['properties']): Schemas {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => {
      const { description, 'x-env': variable, 'x-must': must, default: standard } = setting
      const words = [
        description,
        ...(must === undefined ? [] : [`Must ${must}.`]),
        ...(variable === undefined ? [] : [`The variable ${variable} takes precedence.`]),
      ]
      // The gateway reads a number there as a text.
      const isNumeric = setting['type'] === 'string' && /^\d+$/.test(String(standard))
      const type = isNumeric ? ['string', 'integer'] : setting['type']
      return [name, { ...setting, type, description: words.filter(Boolean).join(' ') }]
    }),
  )
}

/** What an entry of `catalog` may have: any members of a row, where null removes one. */
function entryOf(row: Schema, schemas: Schemas): Schema {
  const { capabilities, pricing: _, ...members } = row['properties'] as Schemas
  const prices = { ...schemas['ModelPricing'], additionalProperties: false }
  const merged = { capabilities: capabilities!, pricing: prices }
  const properties = { ...members, ...mapped(merged, withOptions) }
  return withOptions({ ...row, properties })
}

/** The schema of an object of which any member may be missing or null. */
function withOptions(whole: Schema): Schema {
  const { required: _, properties, ...schema } = whole
  return { ...schema, properties: mapped(properties as Schemas, nullable) }
}

function nullable({ description, ...schema }: Schema): Schema {
  return { description, anyOf: [schema, { type: 'null' }] }
}

function mapped(schemas: Schemas, change: (schema: Schema) => Schema): Schemas {
  return Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, change(one)]))
}
