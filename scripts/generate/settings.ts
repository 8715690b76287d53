import { Ajv2020 } from 'ajv/dist/2020.js'
import { compile, options } from './checks.ts'
import { banner, type Document, type Schema } from './document.ts'
import { schemaTypes } from './schema-types.ts'

type Setting = Schema & {
  'x-env'?: string
  'x-must'?: string
  'x-reload'?: 'now'
  default?: unknown
  description?: string
}
export type SettingsSchema = Schema & {
  properties: Record<string, Setting>
  /** Names of settings by group title, in the order of the table in the documentation. */
  'x-groups': Record<string, string[]>
}

/**
 * The files with the types, the check and the table of settings, by file name. The check file also checks
 * catalog rows that operators write.
 */
export async function settingsFiles(
  schema: SettingsSchema,
  document: Document,
): Promise<Record<string, string>> {
  // The cast is needed, as Schema does not type nested properties: the settings in `limits`.
  const limits = schema.properties['limits']!['properties'] as Record<string, Setting>
  const rows = (settings: Record<string, Setting>, prefix = '') =>
    Object.entries(settings).map(
      ([name, { 'x-env': variable, 'x-reload': reload, default: standard, description }]) => ({
        name: prefix + name,
        variable: variable ?? null,
        standard: standard ?? null,
        needsRestart: reload !== 'now',
        description: description ?? null,
      }),
    )
  const { limits: _limits, ...plain } = schema.properties
  const { 'x-groups': groups, ...checked } = schema
  const table = inGroups([...rows(plain), ...rows(limits, 'limits.')], groups)
  const ajv = new Ajv2020({ ...options, useDefaults: true, coerceTypes: true, allErrors: true })
  return {
    'settings.ts': `${await schemaTypes({ Settings: checked })}
export const settings = ${JSON.stringify(table, null, 2)} as const
`,
    'settings-check.js': compile(ajv.addSchema(document, 'contract'), {
      settingsCheck: checked,
      catalogModelCheck: { $ref: 'contract#/components/schemas/CatalogModel' },
    }),
    'settings-check.d.ts': `${banner}
import type { Check } from './checks.js'
import type { components } from './settings.ts'
import type { components as contract } from './types.ts'

/** Converts texts of variables to their types, fills defaults in place and collects all errors. */
export const settingsCheck: Check<components['schemas']['Settings']>
export const catalogModelCheck: Check<contract['schemas']['CatalogModel']>
`,
  }
}

/** The rows in the order of groups. Throws for a setting that is in no group, or in two. */
function inGroups<Row extends { name: string }>(
  rows: readonly Row[],
  groups: SettingsSchema['x-groups'],
): (Row & { group: string })[] {
  const byName = new Map(rows.map((row) => [row.name, row]))
  const grouped = Object.entries(groups).flatMap(([group, names]) =>
    names.map((name) => {
      const row = byName.get(name)
      if (!byName.delete(name))
        throw new Error(`x-groups: '${name}' is not a setting, or is listed twice.`)
      return { group, ...row! }
    }),
  )
  if (byName.size > 0) throw new Error(`x-groups lacks ${[...byName.keys()].join(', ')}.`)
  return grouped
}
