import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import { banner, nameIn, operationsOf, parametersOf } from './document.ts'
import { resolved, type Document, type OperationRow, type Schema } from './document.ts'
import { openAnswers } from './open-answers.ts'
import { applyOverlay, type Overlay } from './overlay.ts'

/**
 * The generated files of the TypeScript client (`sdk/typescript`): the types of the contract, which Hey API
 * writes, and a function for each operation and for each event stream of the contract in OpenAPI 3.2.
 */
export async function typescriptClient(
  document: Document,
  overlay: Overlay,
): Promise<Record<string, string>> {
  const types = await typesOf(openAnswers(document))
  return { 'types.ts': types, 'operations.ts': operationsFile(applyOverlay(document, overlay)) }
}

/** Without MCP and OAuth, for which programs use libraries of these protocols. */
const isOwn = (path: string) => /^\/(?:v1|api)\//.test(path)

const unlistedValue = 'UnlistedValue'

async function typesOf(document: Document): Promise<string> {
  const input = withUnlistedValues(structuredClone(document))
  input.paths = Object.fromEntries(Object.entries(input.paths).filter(([path]) => isOwn(path)))
  for (const { operation } of operationsOf(input)) {
    const { responses } = operation
    // Errors are thrown as `GatewayError`.
    for (const status of Object.keys(responses)) if (status >= '400') delete responses[status]
    // A job is the answer to the header `prefer` alone: it would be in the type of every answer with images. The
    // functions of sdk/typescript/src/create-image-job.ts send the header, and have its type.
    if ('200' in responses) delete responses['202']
    for (const response of Object.values(responses)) {
      const media = 'content' in response ? response.content?.['application/json'] : undefined
      // The other forms need a header that this client does not send.
      const forms = media?.schema['anyOf'] as Schema[] | undefined
      if (media !== undefined && forms !== undefined) media.schema = forms[0]!
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'typescript-client-'))
  try {
    await createClient({
      // The document has more members than its type.
      input: input as never,
      output: { path: folder, entryFile: false },
      plugins: ['@hey-api/typescript'],
      logs: { level: 'silent', file: false },
    })
    const text = readFileSync(join(folder, 'types.gen.ts'), 'utf8')
    // A union of literals and `string` would be `string`, without the literals that editors complete.
    return text
      .replace(`${unlistedValue} = string;`, `${unlistedValue} = string & {};`)
      .replace(/export type ClientOptions = \{.*?\n\};\n\n/s, '')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The document with a name for the other values of each open enumeration. */
function withUnlistedValues(document: Document): Document {
  const { schemas } = document.components
  const isEnumeration = (schema: Schema) => Array.isArray(resolved(document, schema)['enum'])
  const change = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const inner of Object.values(value)) change(inner)
    const { anyOf: forms } = value as { anyOf?: Schema[] }
    if (!Array.isArray(forms) || !forms.some(isEnumeration)) return
    const isOther = (form: Schema) => form['type'] === 'string' && !isEnumeration(form)
    for (const [index, form] of forms.entries())
      if (isOther(form)) forms[index] = { $ref: `#/components/schemas/${unlistedValue}` }
  }
  change(document)
  const description = 'A value that this version of the client does not know.'
  schemas[unlistedValue] = { description, type: 'string' }
  return document
}

function operationsFile(document: Document): string {
  const types = new Set<string>()
  /** The name of a type that the file imports. */
  const type = (name: string) => {
    types.add(name)
    return name
  }
  const functions = operationsOf(document)
    .filter(({ path }) => isOwn(path))
    .flatMap((row) => [...functionOf(document, row, type), ...streamOf(document, row, type)])
  const imports =
    "import { operation, type Operation, type WithForm } from '../client.js'\n" +
    "import { streamOperation, type StreamOperation } from '../event-stream.js'\n" +
    `import type {\n${[...types]
      .sort()
      .map((name) => `  ${name},\n`)
      .join('')}} from './types.js'\n`
  return `${banner}${imports}\n${functions.join('\n')}`
}

type Type = (name: string) => string

/** The function of an operation whose answers are not only streamed. */
function functionOf(document: Document, row: OperationRow, type: Type): string[] {
  const { id, operation, path } = row
  const media = Object.entries(operation.responses)
    .filter(([status]) => status < '300')
    .flatMap(([, response]) => ('content' in response ? Object.keys(response.content ?? {}) : []))
  if (media.length > 0 && media.every((one) => one === 'text/event-stream')) return []
  for (const { name, schema, ...style } of parametersOf(document, operation, 'query'))
    if (resolved(document, schema)['type'] === 'array' && !('explode' in style))
      throw new Error(
        `The client separates lists by commas: ${name} of ${path} needs explode: false.`,
      )
  const { summary = '', description = '' } = operation
  const takesKey = (operation.security ?? document.security).some((one) => 'bearer' in one)
  const values = [...placeOf(row), ...(takesKey ? [] : ['false'])]
  const types = `${dataOf(row, type)}, ${type(`${capital(id)}Responses`)}`
  const text = `operation(${values.join(', ')})`
  return [
    `${comment(`${summary}\n\n${description}`)}export const ${id}: Operation<${types}> = ${text}\n`,
  ]
}

/** The function that streams the answers of an operation. */
function streamOf(document: Document, row: OperationRow, type: Type): string[] {
  const { id, operation } = row
  const stream = Object.values(operation.responses)
    .map((one) => ('content' in one ? one.content?.['text/event-stream']?.itemSchema : undefined))
    .find((one) => one !== undefined)
  if (stream === undefined) return []
  const { anyOf, oneOf, ...item } = resolved(document, stream)
  const items = (anyOf ?? oneOf ?? [item]) as Item[]
  const events = items.flatMap(({ properties: { event, data } }) =>
    data.contentSchema === undefined || event?.enum?.join() === 'error'
      ? []
      : type(nameIn(data.contentSchema.$ref)),
  )
  const last = items.flatMap(({ properties: { data } }) => data.enum ?? [])[0]
  const headers = parametersOf(document, operation, 'header')
  const form = {
    ...(last === undefined ? {} : { last }),
    ...(headers.some(({ name }) => name === 'last-event-id') ? { resumes: true } : {}),
  }
  const values = [
    ...placeOf(row),
    ...(Object.keys(form).length === 0 ? [] : [JSON.stringify(form)]),
  ]
  const name = id.replace(/^create/, 'stream')
  const types = `${dataOf(row, type)}, ${events.join(' | ')}`
  const whole = name === id ? '' : `\n\nIs \`${id}\` with \`stream: true\`.`
  const text = `${operation.summary}, as a stream of \`${events.join('` or `')}\`${whole}`
  const declared = `export const ${name}: StreamOperation<${types}>`
  return [`${comment(text)}${declared} = streamOperation(${values.join(', ')})\n`]
}

type Item = {
  properties: {
    event?: { enum?: string[] }
    data: { enum?: string[]; contentSchema?: { $ref: string } }
  }
}

const placeOf = ({ method, path }: OperationRow) => [`'${method.toUpperCase()}'`, `'${path}'`]
const capital = (id: string) => id.charAt(0).toUpperCase() + id.slice(1)

/** The type of a request; a form is a second type of its body. */
function dataOf({ id, operation }: OperationRow, type: Type): string {
  const data = type(`${capital(id)}Data`)
  const form = operation.requestBody?.content['multipart/form-data']?.schema['$ref']
  return typeof form === 'string' ? `WithForm<${data}, ${type(nameIn(form))}>` : data
}

function comment(text: string): string {
  const lines = text.trim().replaceAll('*/', '*\\/').split('\n')
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`
}
