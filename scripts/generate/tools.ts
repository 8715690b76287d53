import { banner, type Document, type Schema } from './document.ts'

/** mcp-tools.json as it is written. */
export type ToolsDocument = { $defs: Record<string, Schema>; tools: WrittenTool[] }
type WrittenTool = {
  name: string
  title: string
  description: string
  annotations: object
  /** The path of an icon on a field of 24 by 24. */
  'x-icon': string
  inputSchema: Schema
}
/** A tool whose schema has every reference replaced by what it leads to. */
export type Tool = Omit<WrittenTool, '$defs'>

/** The other arguments that must be absent for a default to hold. */
const conditional = 'x-default-without'

/** The tools with the schemas that they refer to, in mcp-tools.json or in the contract, in their places. */
export function toolsOf(written: ToolsDocument, contract: Document): Tool[] {
  const documents: Record<string, unknown> = { '': written, 'openapi.yaml': contract }
  const inlined = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inlined)
    if (typeof value !== 'object' || value === null) return value
    const { $ref: reference, ...beside } = value as Schema
    if (typeof reference !== 'string') return mapped(value as Schema, inlined)
    const [file = '', pointer = ''] = reference.split('#')
    // What stands beside a reference replaces what it leads to.
    return inlined({ ...(targetOf(documents[file], pointer) as Schema), ...beside })
  }
  // Only references change.
  return written.tools.map((tool) => inlined(tool) as Tool)
}

function targetOf(document: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1)
  const target = names.reduce((part, name) => (Object(part) as Schema)[name], document)
  if (target === undefined) throw new Error(`mcp-tools.json: ${pointer} leads nowhere.`)
  return target
}

/** A default that holds only without some other arguments is left to the tool. */
export function withoutConditionalDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutConditionalDefaults)
  if (typeof value !== 'object' || value === null) return value
  const schema = mapped(value as Schema, withoutConditionalDefaults)
  if (!(conditional in schema)) return schema
  const { default: _, ...rest } = schema
  return rest
}

/**
 * What clients are told, in the part of JSON Schema that every vendor of models takes: OpenAI and
 * Anthropic in their strict modes, Gemini in function declarations. Bounds are told in words.
 */
function toldSchema(schema: Schema): Schema {
  const { type, enum: values, items, properties, required, anyOf, oneOf } = schema
  const choices = (anyOf ?? oneOf) as Schema[] | undefined
  // The tests hold mcp-tools.json to bounds of these types.
  const { description, ...bounds } = schema as Bounds & { description?: string }
  const words = [...(description === undefined ? [] : [description]), ...boundWords(bounds)].join(
    ' ',
  )
  const told = {
    type,
    // Gemini takes nothing beside `anyOf`.
    description: choices !== undefined || words === '' ? undefined : words,
    enum: values,
    items: items === undefined ? undefined : toldSchema(items as Schema),
    properties: properties === undefined ? undefined : mapped(properties as Schema, toldMember),
    required,
    anyOf: choices?.flatMap(toldChoices),
  }
  const kept = choices === undefined ? told : { anyOf: told.anyOf }
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
}

/** A choice that is one of several again adds these. */
function toldChoices(choice: Schema): Schema[] {
  const told = toldSchema(choice)
  return (told['anyOf'] as Schema[] | undefined) ?? [told]
}

function toldMember(member: unknown): Schema {
  // A member of `properties` is a schema.
  return toldSchema(member as Schema)
}

function mapped(schema: Schema, change: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, change(one)]))
}

/** The bounds of a schema, as far as they are told in words. */
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

/** One sentence for each bound that has no keyword; those of a pattern are in its description. */
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

/** The file of what `tools/list` answers, and of the defaults that are told there in words. */
export function toolsFile(tools: Tool[]): string {
  const told = tools.map(
    ({ name, title, description, inputSchema, annotations, 'x-icon': icon }) => ({
      name,
      title,
      description,
      inputSchema: toldSchema(inputSchema),
      annotations,
      icons: [{ src: iconAddress(icon), mimeType: 'image/svg+xml', sizes: ['any'] }],
    }),
  )
  const defaults = tools.map(({ name, inputSchema }) => [name, defaultsIn(inputSchema)])
  return `${banner}
/** What \`tools/list\` answers: mcp-tools.json, with the bounds of arguments in words. */
export const tools = ${JSON.stringify(told, null, 2)} as const

/** The defaults of arguments by tool; also those that hold only without some other argument. */
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

/** An icon that needs no other address; its colour is seen on light and on dark. */
function iconAddress(path: string): string {
  const stroke = 'fill="none" stroke="#3b82f6" stroke-width="2" stroke-linecap="round"'
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" ${stroke}><path d="${path}"/></svg>`
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
}
