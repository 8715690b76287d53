import type { components } from '../../../generated/types.ts'
import { jsonObject } from '../../core/any-json.ts'
import { functionOf, nativeOnly, vendorRuns, type Native } from '../native-only.ts'
import forms from './client-tools.json' with { type: 'json' }
import { isKnownItem, itemPrefixes, type OutputItem, type Place } from './item.ts'

type Schemas = components['schemas']
type Tool = Schemas['ResponseTool']
type InputItem = Schemas['ResponseInputItem']
type TypedItem = Schemas['ResponseTypedItem']
type NameOf = (call: { name: string; namespace?: string }) => string

/**
 * A tool that the client runs, as a function for models that do not know it. `member` of a call has the
 * arguments, beside `fixed`; the call has `more` members.
 */
type Form = {
  member: string
  parameters: { properties: Record<string, { type: string }>; required: readonly string[] }
  more?: object
  fixed?: object
}
export type ClientToolType = keyof typeof forms

const isClientTool = (type: string): type is ClientToolType => Object.hasOwn(forms, type)
const typeOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value)

/** Writes the call of a function as a call of the tool; undefined if its arguments are not those of the tool. */
export function writeClientCall(
  type: ClientToolType,
  { callId, json }: { callId: string; json: string },
  { index, suffix, emit }: Place,
): OutputItem | undefined {
  const { member, parameters, more, fixed }: Form = forms[type]
  const args = jsonObject(json)
  const fits = (name: string) => typeOf(args?.[name]) === parameters.properties[name]?.type
  if (args === undefined || !parameters.required.every(fits)) return undefined
  const call = { id: `${itemPrefixes[`${type}_call`]}_${suffix}`, call_id: callId }
  const item = { ...call, type: `${type}_call`, ...more, [member]: { ...fixed, ...args } }
  emit('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress' },
  })
  // The members fit the type, as the table shows.
  return { ...item, status: 'completed' } as unknown as OutputItem
}

/** What a request gets for a tool that is no function; the function of a native tool is not sent. */
type Other = Partial<Native> & { client?: ClientToolType; function: Schemas['FunctionTool'] }

/** Tools that the vendor would run. */
const hosted = new Set(['file_search', 'code_interpreter', 'mcp', 'programmatic_tool_calling'])
const leaveOut = 'Leave it out, or send a tool that you run yourself.'
const otherModel = 'Choose such a model, or send a function of your own.'

/**
 * Reads a tool that is no function. Undefined for a search of the vendor, since other models get all tools.
 * Throws a GatewayError for a tool that the vendor would run.
 */
export function otherTool(tool: Tool, place: string): Other | undefined {
  const { type } = tool
  const param = `${place}.type`
  if (hosted.has(type)) throw vendorRuns({ type, param, remedy: leaveOut })
  if (!isClientTool(type)) {
    const isKnown = type === 'computer' || type === 'computer_use_preview'
    const native = nativeOnly({ type, param, remedy: otherModel }, isKnown)
    return { ...native, function: functionOf(type, JSON.stringify(tool)) }
  }
  const isSearch = type === 'tool_search'
  const own = (isSearch ? tool : {}) as Partial<Schemas['ResponseToolSearchTool']>
  if (isSearch && own.execution !== 'client') return undefined
  const { description, parameters } = forms[type]
  const sent = functionOf(type, own.description ?? description, own.parameters ?? parameters)
  return { client: type, function: sent }
}

/** Why an item cannot be translated; undefined for other items. */
export function nativeItem(item: InputItem, place: string): Native | undefined {
  const type = 'type' in item ? item.type : 'message'
  const isKnown = isKnownItem(item)
  if (isKnown && !type.startsWith('computer_')) return undefined
  return nativeOnly({ type, param: `${place}.type`, remedy: otherModel }, isKnown)
}

/** The tools in an item. */
export function toolsIn(item: InputItem): readonly Tool[] | undefined {
  const { type, tools } = item as Pick<Schemas['ResponseToolSearchOutput'], 'tools'> & {
    type?: string
  }
  return type === 'additional_tools' || type === 'tool_search_output' ? tools : undefined
}

/** The item for a translated request; what cannot be translated is counted as a text. */
export function plainItem(original: InputItem, nameOf: NameOf) {
  // Items of unknown types take the default branch.
  const item = ('type' in original ? original : { type: 'message', ...original }) as TypedItem
  switch (item.type) {
    case 'tool_search_call':
    case 'apply_patch_call':
    case 'shell_call':
    case 'local_shell_call':
    case 'computer_call':
      return callOf(item)
    case 'tool_search_output':
      return outputOf(item.call_id, `Found tools: ${namesIn(item.tools, nameOf).join(', ')}`)
    case 'apply_patch_call_output':
      return outputOf(item.call_id, [item.status, item.output].filter(Boolean).join(': '))
    case 'shell_call_output':
      return outputOf(item.call_id, JSON.stringify(item.output))
    case 'local_shell_call_output':
      return outputOf(item.call_id ?? item.id, item.output)
    case 'computer_call_output':
      return outputOf(item.call_id, [{ type: 'input_image', image_url: item.output.image_url }])
    default:
      return isKnownItem(item) ? item : said(JSON.stringify(item))
  }
}

const said = (content: string) => ({ type: 'message', role: 'assistant', content }) as const

/** A call; a search that the vendor ran has no id, and no meaning for others. */
function callOf(item: { type: string; call_id?: string | null }) {
  if (item.call_id == null) return said('')
  const name = item.type.replace(/_call$/, '')
  const args: unknown = isClientTool(name) ? Reflect.get(item, forms[name].member) : item
  const json = JSON.stringify(args ?? {})
  return { type: 'function_call' as const, call_id: item.call_id, name, arguments: json }
}

function outputOf(id: string | null | undefined, output: Schemas['ResponseToolOutput']) {
  return id == null ? said('') : { type: 'function_call_output' as const, call_id: id, output }
}

function namesIn(tools: readonly Tool[], nameOf: NameOf): string[] {
  return (tools as readonly Schemas['ResponseKnownTool'][]).flatMap((tool) => {
    if (tool.type !== 'namespace') return 'name' in tool ? String(tool.name) : tool.type
    return tool.tools.map(({ name }) => nameOf({ name, namespace: tool.name }))
  })
}
