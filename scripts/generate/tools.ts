import { banner, type Document, type Schema } from './document.ts'

/** The content of mcp-tools.json. */
export type ToolsDocument = { $defs: Record<string, Schema>; tools: WrittenTool[] }
type WrittenTool = {
  name: string
  title: string
  description: string
  annotations: object
  /** The SVG path of an icon in a view box of 24 by 24. */
  'x-icon': string
  inputSchema: Schema
}
/** A tool whose schema has each reference replaced by its target. */
export type Tool = Omit<WrittenTool, '$defs'>

/** Names the arguments that must be absent for a default to apply. */
const conditional = 'x-default-without'

/** The tools, with references to mcp-tools.json and the contract replaced by their targets. */
export function toolsOf(written: ToolsDocument, contract: Document): Tool[] {
  const documents: Record<string, unknown> = { '': written, 'openapi.yaml': contract }
  const inlined = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inlined)
    if (typeof value !== 'object' || value === null) return value
    const { $ref: reference, ...beside } = value as Schema
    if (typeof reference !== 'string') return mapped(value as Schema, inlined)
    const [file = '', pointer = ''] = reference.split('#')
    // Keywords beside a reference override those of its target.
    return inlined({ ...(targetOf(documents[file], pointer) as Schema), ...beside })
  }
  // The cast is safe, since only references are replaced.
  return written.tools.map((tool) => inlined(tool) as Tool)
}

function targetOf(document: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1)
  const target = names.reduce((part, name) => (Object(part) as Schema)[name], document)
  if (target === undefined) throw new Error(`mcp-tools.json: ${pointer} does not exist.`)
  return target
}

/** The schema without conditional defaults, which the tool itself applies. */
export function withoutConditionalDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutConditionalDefaults)
  if (typeof value !== 'object' || value === null) return value
  const schema = mapped(value as Schema, withoutConditionalDefaults)
  if (!(conditional in schema)) return schema
  const { default: _, ...rest } = schema
  return rest
}

/**
 * The schema for clients, limited to keywords that all model vendors accept: OpenAI and Anthropic in their
 * strict modes, Gemini in function declarations. Descriptions name the bounds in words.
 */
function clientSchema(schema: Schema): Schema {
  const { type, enum: values, items, properties, required, anyOf, oneOf } = schema
  const choices = (anyOf ?? oneOf) as Schema[] | undefined
  // The tests check that the bounds in mcp-tools.json have these types.
  const { description, ...bounds } = schema as Bounds & { description?: string }
  const words = [...(description === undefined ? [] : [description]), ...boundWords(bounds)].join(
    ' ',
  )
  const listed = {
    type,
    // Gemini accepts no other keyword beside `anyOf`.
    description: choices !== undefined || words === '' ? undefined : words,
    enum: values,
    items: items === undefined ? undefined : clientSchema(items as Schema),
    properties: properties === undefined ? undefined : mapped(properties as Schema, clientMember),
    required,
    anyOf: choices?.flatMap(clientChoices),
  }
  const kept = choices === undefined ? listed : { anyOf: listed.anyOf }
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
}

/** Flattens nested alternatives. */
function clientChoices(choice: Schema): Schema[] {
  const schema = clientSchema(choice)
  return (schema['anyOf'] as Schema[] | undefined) ?? [schema]
}

function clientMember(member: unknown): Schema {
  // The cast is safe: a member of `properties` is a schema.
  return clientSchema(member as Schema)
}

function mapped(schema: Schema, change: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, change(one)]))
}

/** The bounds in a schema that the tool's description states in words. */
type Bounds = {
  type?: string
  minimum?: number
  maximum?: number
  multipleOf?: number
  minItems?: number
  maxItems?: number
  maxLength?: number
  pattern?: string
  examples?: string[]
  default?: string | number | boolean
  [conditional]?: string[]
}

/** One sentence for each bound; descriptions already explain patterns other than `\\S`. */
function boundWords(bounds: Bounds): string[] {
  const { minItems, maxItems, maxLength, pattern, examples = [] } = bounds
  const least = `At least ${minItems} item${minItems === 1 ? '' : 's'}.`
  const items = maxItems === undefined ? least : `${minItems} to ${maxItems} items.`
  return [
    ...rangeWords(bounds),
    ...(minItems === undefined ? [] : [items]),
    ...(pattern === '\\S' ? ['Not blank.'] : []),
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
    ...(examples.length === 0 ? [] : [`Such as ${examples.join(', ')}.`]),
    ...defaultWords(bounds),
  ]
}

function rangeWords({ type, minimum, maximum, multipleOf }: Bounds): string[] {
  const isWhole = type === 'integer' || multipleOf === 1
  const number = isWhole ? 'A whole number' : 'A number'
  if (maximum !== undefined) return [`${number} from ${minimum} to ${maximum}.`]
  return minimum === undefined ? [] : [`${number}, at least ${minimum}.`]
}

function defaultWords({ default: standard, [conditional]: others }: Bounds): string[] {
  const without = others === undefined ? '' : ` without ${others.join(' and ')}`
  return standard === undefined ? [] : [`Default${without}: ${standard}.`]
}

/** The text of `tools.ts`: the result of `tools/list`, and the defaults of arguments. */
export function toolsFile(tools: Tool[]): string {
  const listed = tools.map(
    ({ name, title, description, inputSchema, annotations, 'x-icon': icon }) => ({
      name,
      title,
      description,
      inputSchema: clientSchema(inputSchema),
      annotations,
      icons: [{ src: iconAddress(icon), mimeType: 'image/svg+xml', sizes: ['any'] }],
    }),
  )
  const defaults = tools.map(({ name, inputSchema }) => [name, defaultsIn(inputSchema)])
  return `${banner}
/** The result of \`tools/list\`: mcp-tools.json, with the bounds of arguments in words. */
export const tools = ${JSON.stringify(listed, null, 2)} as const

/** The defaults of arguments by tool, including conditional defaults. */
export const toolDefaults = ${JSON.stringify(Object.fromEntries(defaults), null, 2)} as const

export type ToolName = (typeof tools)[number]['name']
`
}

function defaultsIn({ properties }: Schema): Schema {
  const members = Object.entries((properties ?? {}) as Record<string, Schema>)
  return Object.fromEntries(
    members.flatMap(([name, { default: standard }]) =>
      standard === undefined ? [] : [[name, standard]],
    ),
  )
}

/** An icon as a data URL, in a colour that is visible on light and dark backgrounds. */
function iconAddress(path: string): string {
  const stroke = 'fill="none" stroke="#3b82f6" stroke-width="2" stroke-linecap="round"'
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" ${stroke}><path d="${path}"/></svg>`
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
}
