import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { toolsOf, type ToolsDocument } from '../../scripts/generate/tools.ts'

/** The parts of JSON Schema that the contract uses. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  maximum?: number
  multipleOf?: number
  pattern?: string
  maxLength?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  maxProperties?: number
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  not?: Schema
  contentSchema?: Schema
  'x-checked-by-model'?: boolean
}
type Reference = { $ref: string }
export type Example = { value: unknown }
export type MediaType = { schema: Schema; example?: unknown; examples?: Record<string, Example> }

/** The values of the examples of a media type. */
export function examplesIn({ example, examples = {} }: MediaType): unknown[] {
  const named = Object.values(examples).map(({ value }) => value)
  return example === undefined ? named : [example, ...named]
}

export type Header = { required?: boolean; schema: Schema; example?: unknown }
export type Parameter = Header & { name: string; in: string }
export type Link = { operationId: string; parameters: Record<string, string> }
export type ResponseObject = {
  description: string
  links?: Record<string, Link>
  headers?: Record<string, Header | Reference>
  content?: Record<string, MediaType>
}
export type RequestBody = { required?: boolean; content: Record<string, MediaType> }
export type OperationObject = {
  operationId: string
  tags?: string[]
  summary?: string
  security?: Record<string, string[]>[]
  'x-protocol'?: string
  'x-error-form'?: string
  parameters?: (Parameter | Reference)[]
  requestBody?: RequestBody | Reference
  responses: Record<string, ResponseObject | Reference>
}
export type ContractDocument = {
  tags: { name: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, OperationObject>>
  /** The requests that the gateway sends, by type of event. */
  webhooks: Record<string, { post: OperationObject & { requestBody: RequestBody } }>
  components: Record<string, Record<string, object>> & {
    schemas: Record<string, Schema>
    securitySchemes: Record<string, object>
  }
}
export type Tool = {
  name: string
  title: string
  description: string
  annotations: Record<string, boolean>
  inputSchema: Schema
}

function read(name: string): string {
  return readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
}

/** The parsed openapi.yaml. Tests read the file itself, independent of generated code. */
export const contract = parse(read('openapi.yaml')) as ContractDocument
/** The parsed mcp-tools.json, with resolved references. */
export const tools = toolsOf(
  JSON.parse(read('mcp-tools.json')) as ToolsDocument,
  contract as unknown as Parameters<typeof toolsOf>[1],
) as unknown as Tool[]

/** An operation with its body resolved. */
export type OperationRow = Omit<OperationObject, 'requestBody'> & {
  requestBody?: RequestBody
  method: string
  path: string
}

export const operations: OperationRow[] = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { requestBody, ...operation }]) => ({
    ...operation,
    ...(requestBody === undefined ? {} : { requestBody: resolve(requestBody) }),
    method,
    path,
  })),
)

/** Operations other than OAuth's. test/oauth checks OAuth's operations against the standards. */
export const ownOperations = operations.filter((row) => row['x-protocol'] !== 'oauth')

export function operation(id: string): OperationRow {
  const found = operations.find(({ operationId }) => operationId === id)
  if (found === undefined) throw new Error(`The contract has no operation ${id}.`)
  return found
}

/** Resolves a reference; returns anything else unchanged. */
export function resolve<T extends object>(thing: T | Reference): T {
  if (!('$ref' in thing) || typeof thing.$ref !== 'string') return thing as T
  const path = thing.$ref.split('/').slice(1)
  const found = path.reduce<unknown>(
    (part, name) => (part as Record<string, unknown> | undefined)?.[name],
    contract,
  )
  if (found === undefined) throw new Error(`${thing.$ref} does not exist.`)
  const { $ref: _, ...beside } = thing
  // Members beside a `$ref` override members of its target.
  const pointee = resolve(found as T)
  return Object.keys(beside).length === 0 ? pointee : { ...pointee, ...beside }
}

/** The schema of a request's JSON body. */
export function bodySchema({ requestBody }: OperationRow): Schema | undefined {
  const media = requestBody?.content['application/json']
  return media === undefined ? undefined : resolve(media.schema)
}

/** The alternatives of a schema without null. */
export function alternatives(schema: Schema): Schema[] {
  const found = resolve(schema)
  const choices = found.anyOf ?? found.oneOf
  if (choices !== undefined) return choices.flatMap(alternatives)
  const types = [found.type ?? []].flat().filter((type) => type !== 'null')
  if (types.length === 0 && found.type !== undefined) return []
  return types.length > 1
    ? types.map((type) => ({ ...found, type }))
    : [{ ...found, ...one(types) }]
}

function one([type]: string[]): Schema {
  return type === undefined ? {} : { type }
}

export function allowsNull(schema: Schema): boolean {
  const found = resolve(schema)
  const choices = found.anyOf ?? found.oneOf
  if (choices !== undefined) return choices.some(allowsNull)
  return found.const === null || [found.type ?? []].flat().includes('null')
}

// Ajv on the document itself validates independently of generated/checks.js.
const options = {
  strict: false,
  validateSchema: false,
  allErrors: true,
  validateFormats: false,
} as const
const ajv = new Ajv2020(options)
ajv.addSchema(contract, 'contract')
const closed = new Ajv2020(options)
closed.addSchema(closeObjects(contract), 'contract')

const validators = new Map<string, ValidateFunction>()

/** Violations of a schema of the contract; empty when the value complies. */
export function complaints(schema: Schema, value: unknown): string[] {
  return complaintsOf(ajv, 'open', schema, value)
}

/** Violations of a schema, where members that the contract does not describe are violations too. */
export function strictComplaints(schema: Schema, value: unknown): string[] {
  return complaintsOf(closed, 'closed', schema, value)
}

function complaintsOf(by: Ajv2020, kind: string, schema: Schema, value: unknown): string[] {
  const text = JSON.stringify(schema).replaceAll('"#/', '"contract#/')
  const key = `${kind} ${text}`
  const rebased = JSON.parse(text) as Schema
  const known = validators.get(key)
  const check = known ?? by.compile(kind === 'closed' ? closeSchema(rebased) : rebased)
  validators.set(key, check)
  if (check(value)) return []
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath || 'the value'} ${message} ${JSON.stringify(params)}`,
  )
}

function closeObjects(document: ContractDocument): object {
  const schemas = Object.entries(document.components.schemas)
  const closedSchemas = Object.fromEntries(schemas.map(([name, s]) => [name, closeSchema(s)]))
  return { ...document, components: { ...document.components, schemas: closedSchemas } }
}

function closeSchema(schema: Schema): Schema {
  const map = (inner: Record<string, Schema>) =>
    Object.fromEntries(Object.entries(inner).map(([name, s]) => [name, closeSchema(s)]))
  const { properties, items, anyOf, oneOf, additionalProperties } = schema
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: map(properties) }),
    ...(properties === undefined || additionalProperties !== undefined
      ? {}
      : { additionalProperties: false }),
    ...(items === undefined ? {} : { items: closeSchema(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(closeSchema) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(closeSchema) }),
  }
}

/** The properties of a schema and of the schemas inside it. */
export function propertiesIn(schema: Schema): [string, Schema][] {
  const { properties = {}, items, anyOf = [], oneOf = [] } = schema
  const inner = [...Object.values(properties), ...anyOf, ...oneOf, ...(items ? [items] : [])]
  return [...Object.entries(properties), ...inner.flatMap(propertiesIn)]
}
