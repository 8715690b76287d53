import { Ajv2020 } from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'
import { absentNulls, mark, withAbsentNulls } from './absent-nulls.ts'
import {
  banner,
  parametersOf,
  type Document,
  type Operation,
  type OperationRow,
  type Schema,
} from './document.ts'
import { withoutConditionalDefaults, type Tool } from './tools.ts'

/** The schemas of which the program checks values besides bodies and arguments; `ImageConfig…` are the image options. */
const checkedAlone =
  /^(CassetteName|CatalogFile|IdempotencyKey|ImageConfig\w*|ImageJobId|JsonRpc(ErrorResponse|Id|Notification|Request|ResultResponse)|(Legacy|Modern)Revision|LogLevel|ModelName|ModernMeta|Scope|SubscriptionsListen)$/

/** The files with checks of bodies, tool arguments, schemas and parameters, by file name. */
export function checkFiles(
  document: Document,
  operations: OperationRow[],
  tools: Tool[],
): Record<string, string> {
  const bodies = operations.filter(
    ({ operation }) => jsonBody(operation) !== undefined && operation['x-protocol'] === undefined,
  )
  const asked = withAbsentNulls(
    document,
    bodies.map(({ operation }) => jsonBody(operation)!),
  )
  // The cast is safe, since both functions replace schemas only.
  const contract = withReadTexts(forChecks(withTexts(asked, asked.components.schemas))) as Document
  const schemas = Object.keys(document.components.schemas).filter((n) => checkedAlone.test(n))
  const strict = new Ajv2020({ ...options, useDefaults: true })
  strict.addKeyword(absentNulls)
  strict.addSchema(contract, 'contract')
  const lenient = new Ajv2020({ ...options, useDefaults: true, coerceTypes: true })
  lenient.addSchema(contract, 'contract')
  const bodyCode = compile(strict, {
    ...mapped(bodies, 'body', ({ id, operation }) => [id, rebased(jsonBody(operation)!)]),
    ...mapped(tools, 'tool', (tool) => [tool.name, withReadTexts(checkedSchema(tool)) as Schema]),
    ...mapped(schemas, 'schema', (n) => [n, { $ref: `contract#/components/schemas/${n}` }]),
  })
  const parameterCode = compile(lenient, {
    ...mapped(operations, 'query', (row) => [row.id, parameters(contract, row.operation, 'query')]),
    ...mapped(operations, 'header', (row) => [
      row.id,
      parameters(contract, row.operation, 'header'),
    ]),
  })
  const ids = operations.map(({ id }) => id)
  const [bodyIds, toolNames] = [bodies.map(({ id }) => id), tools.map(({ name }) => name)]
  return {
    'checks.js':
      bodyCode +
      table('bodyChecks', 'body', bodyIds) +
      table('toolChecks', 'tool', toolNames) +
      table('schemaChecks', 'schema', schemas),
    'checks.d.ts': checkTypes(bodyIds, schemas),
    'parameter-checks.js':
      parameterCode + table('queryChecks', 'query', ids) + table('headerChecks', 'header', ids),
    'parameter-checks.d.ts': `${banner}
import type { Check } from './checks.js'
import type { OperationId } from './operations.ts'

/** Each check converts texts to their types, fills defaults in place, and returns whether all values are allowed. */
export const queryChecks: Record<OperationId, Check<Record<string, unknown>>>
export const headerChecks: Record<OperationId, Check<Record<string, unknown>>>
`,
  }
}

/** The Ajv options of every check. */
export const options = {
  strict: false,
  discriminator: true,
  validateSchema: false,
  messages: true,
  verbose: true,
  inlineRefs: false,
  validateFormats: false,
  code: { source: true, esm: true, lines: false },
} as const

function jsonBody(operation: Operation): Schema | undefined {
  return operation.requestBody?.content['application/json']?.schema
}

/** The schema with its references pointing into the document named `contract`. */
function rebased(schema: Schema): Schema {
  // The cast is safe, since only texts of references are replaced.
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"contract#/')) as Schema
}

/** The schema that checks a tool's arguments; null means absent at any depth. */
export function checkedSchema({ inputSchema }: Tool): Schema {
  // The cast is safe: both functions return a schema for a schema.
  return forChecks(mark(withoutConditionalDefaults(inputSchema))) as Schema
}

/**
 * The contract for Ajv: discriminator mappings become lists of values for error messages, schemas with
 * `x-checked-by-model` accept any object, and tags become constants.
 */
function forChecks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forChecks)
  if (typeof value !== 'object' || value === null) return value
  if ('x-checked-by-model' in value) return { type: 'object' }
  if ('propertyName' in value && 'mapping' in value)
    return { propertyName: value.propertyName, values: Object.keys(Object(value.mapping)) }
  const inner = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, forChecks(v)]))
  return 'properties' in value && 'required' in value ? withTags(inner) : inner
}

/** The value without descriptions that no message quotes: they would be loaded with the code. */
function withReadTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReadTexts)
  if (typeof value !== 'object' || value === null) return value
  const isQuoted = ['pattern', 'enum', 'const'].some((keyword) => keyword in value)
  const kept = Object.entries(value).filter(
    ([name, inner]) => name !== 'description' || typeof inner !== 'string' || isQuoted,
  )
  return Object.fromEntries(kept.map(([name, inner]) => [name, withReadTexts(inner)]))
}

/**
 * Turns required properties with one allowed value into constants, because they are tags of the kind of
 * object. An optional property with one value stays an enum: other values are reported as unsupported.
 */
function withTags(schema: Schema): Schema {
  const required = new Set([schema['required']].flat())
  // The cast is safe, since `forChecks` keeps the shape of a schema's properties.
  const properties = Object.entries(schema['properties'] as Record<string, Schema>)
  const tagged = properties.map(([name, property]) => {
    const { enum: values, ...rest } = property
    const isTag = required.has(name) && Array.isArray(values) && values.length === 1
    return [name, isTag ? { ...rest, const: values[0] } : property]
  })
  return { ...schema, properties: Object.fromEntries(tagged) }
}

/**
 * Replaces references to schemas of plain texts by the schemas, so that errors have the keywords beside
 * the reference, such as examples.
 */
function withTexts<T>(value: T, schemas: Document['components']['schemas']): T {
  const replaced = (inner: unknown): unknown => {
    if (Array.isArray(inner)) return inner.map(replaced)
    if (typeof inner !== 'object' || inner === null) return inner
    const members = Object.entries(inner).map(([name, member]) => [name, replaced(member)])
    const schema = Object.fromEntries(members) as Schema
    const { $ref: reference, ...beside } = schema
    const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(String(reference)) ?? []
    const target = name === undefined ? undefined : schemas[name]
    if (target?.['$ref'] !== undefined) return replaced({ ...target, ...beside })
    const isText = target?.['type'] === 'string' && target['enum'] === undefined
    return isText ? { ...target, ...beside } : schema
  }
  // The cast is safe, since `replaced` keeps the type of its argument.
  return replaced(value) as T
}

function parameters(document: Document, operation: Operation, place: 'query' | 'header'): Schema {
  const found = parametersOf(document, operation, place)
  return {
    type: 'object',
    // Unknown headers are allowed, since clients and proxies add some; unknown query parameters are errors.
    additionalProperties: place === 'header',
    required: found.filter((p) => p.required).map((p) => p.name),
    properties: Object.fromEntries(found.map((p) => [p.name, rebased(p.schema)])),
  }
}

function mapped<T>(
  list: T[],
  kind: string,
  entry: (item: T) => [string, Schema],
): Record<string, Schema> {
  const named = list.map(entry)
  return Object.fromEntries(named.map(([name, schema]) => [exportName(kind, name), schema]))
}

function exportName(kind: string, name: string): string {
  return `${kind}_${name.replaceAll('-', '_')}`
}

/** The code of an ES module that exports a check for each schema, named like the schema. */
export function compile(ajv: Ajv2020, schemas: Record<string, Schema>): string {
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, name)
  const names = Object.fromEntries(Object.keys(schemas).map((name) => [name, name]))
  const code = standalone.default(ajv, names).replace('"use strict";', '')
  // Ajv's output loads its runtime with `require`, even in an ES module.
  const require = code.includes('require(')
    ? "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\n"
    : ''
  // V8 holds a source text outside of Latin-1 with two bytes for each character.
  const ascii = code.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${banner}${require}${ascii}\n`
}

function table(name: string, kind: string, keys: string[]): string {
  const rows = keys.map((key) => `  ${JSON.stringify(key)}: ${exportName(kind, key)},`)
  return `\nexport const ${name} = {\n${rows.join('\n')}\n}\n`
}

function checkTypes(bodyIds: string[], schemas: string[]): string {
  const bodies = bodyIds.map(
    (id) => `  ${id}: Check<operations['${id}']['requestBody']['content']['application/json']>`,
  )
  return `${banner}
import type { components, operations } from './types.ts'
import type { components as tools } from './tool-types.ts'

export type CheckError = {
  instancePath: string
  schemaPath: string
  keyword: string
  params: Record<string, unknown>
  message?: string
  parentSchema?: CheckedSchema
  data?: unknown
}

/** The members of a schema that error messages use. */
export type CheckedSchema = {
  description?: string
  examples?: unknown[]
  properties?: Record<string, CheckedSchema>
  items?: CheckedSchema
  anyOf?: CheckedSchema[]
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  pattern?: string
  format?: string
  discriminator?: { propertyName: string; values: string[] }
  'x-must'?: string
  'x-secret'?: boolean
}

/** Fills defaults in place and returns whether a value is allowed; \`errors\` has the reasons if not. */
export type Check<T> = ((value: unknown) => value is T) & { errors?: CheckError[] | null }

export const bodyChecks: {
${bodies.join('\n')}
}
export const toolChecks: { [Name in keyof tools['schemas']]: Check<tools['schemas'][Name]> }
export const schemaChecks: {
  [Name in ${schemas.map((name) => `'${name}'`).join(' | ')}]: Check<components['schemas'][Name]>
}
`
}
