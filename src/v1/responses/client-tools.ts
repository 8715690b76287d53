import type { components } from '../../../generated/types.ts'
import type { OnlyNative } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import type { Warning } from '../../core/model.ts'
import { isKnownItem, unsent, type OutputItem } from './item.ts'

type Schemas = components['schemas']
type Tool = Schemas['ResponseTool']
type InputItem = Schemas['ResponseInputItem']
type TypedItem = Schemas['ResponseTypedItem']
type NameOf = (call: { name: string; namespace?: string }) => string

const text = { type: 'string' }
const number = { type: 'integer' }
const texts = { type: 'array', items: text }

/**
 * Tools that the client runs, as functions for models that do not know them. `member` of a call has the
 * arguments, beside `fixed`; the call has `more` members.
 */
const forms = {
  tool_search: {
    member: 'arguments',
    description: 'Finds tools, which can then be called.',
    properties: { query: text },
    required: [],
    more: { execution: 'client' },
  },
  apply_patch: {
    member: 'operation',
    description:
      'Creates, updates or deletes a file. `diff` is a V4A diff: hunks begin with `@@`, their lines with a space, `-` or `+`; each line of a new file begins with `+`.',
    properties: {
      type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
      path: text,
      diff: text,
    },
    required: ['type', 'path'],
  },
  shell: {
    member: 'action',
    description: 'Runs commands in a shell on the computer of the user.',
    properties: { commands: texts, timeout_ms: number, max_output_length: number },
    required: ['commands'],
    more: { environment: { type: 'local' } },
    fixed: { timeout_ms: null, max_output_length: null },
  },
  local_shell: {
    member: 'action',
    description: 'Runs a command, a list of arguments, on the computer of the user.',
    properties: { command: texts, working_directory: text, timeout_ms: number },
    required: ['command'],
    fixed: { type: 'exec', env: {} },
  },
} satisfies Record<string, Form>
type Form = {
  member: string
  description: string
  properties: Record<string, { type: string; enum?: string[] }>
  required: string[]
  more?: object
  fixed?: object
}
export type ClientToolType = keyof typeof forms

/** The call of a function as a call of the tool; undefined if its arguments are not those of the tool. */
export function clientCall(
  type: ClientToolType,
  call: { id: string; call_id: string },
  json: string,
): OutputItem | undefined {
  const { member, properties, required, more, fixed }: Form = forms[type]
  const args = objectIn(json)
  const fits = (name: string) =>
    properties[name]?.type === 'array'
      ? Array.isArray(args?.[name])
      : typeof args?.[name] === 'string'
  if (args === undefined || !required.every(fits)) return undefined
  const item = { ...call, type: `${type}_call`, ...more, [member]: { ...fixed, ...args } }
  // The members fit the type, as the table above shows.
  return { ...item, status: 'completed' } as unknown as OutputItem
}

function objectIn(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** What a request gets for a tool that is no function; the function of a native tool is not sent. */
type Other = Partial<Native> & { client?: ClientToolType; function: Schemas['FunctionTool'] }
type Native = { only: OnlyNative; warning?: Warning }

/**
 * Reads a tool that is no function. Undefined for a search of the vendor, since other models get all tools.
 * Throws a GatewayError for a tool that the vendor would run.
 */
export function otherTool(given: Tool, param: string): Other | undefined {
  const tool = given as Schemas['ResponseKnownTool']
  const functionOf = (description: string, parameters?: object) => ({
    type: 'function' as const,
    function: {
      name: tool.type,
      description,
      ...(parameters && { parameters: { ...parameters } }),
    },
  })
  switch (tool.type) {
    case 'tool_search':
    case 'apply_patch':
    case 'shell':
    case 'local_shell': {
      const own: Partial<Schemas['ResponseToolSearchTool']> =
        tool.type === 'tool_search' ? tool : {}
      if (tool.type === 'tool_search' && tool.execution !== 'client') return undefined
      const { description, properties, required } = forms[tool.type]
      const parameters = own.parameters ?? { type: 'object', properties, required }
      return { client: tool.type, function: functionOf(own.description ?? description, parameters) }
    }
    case 'file_search':
    case 'code_interpreter':
    case 'mcp':
    case 'programmatic_tool_calling':
      throw hosted(tool.type, `${param}.type`)
    default: {
      const isKnown = tool.type === 'computer' || tool.type === 'computer_use_preview'
      const own = native(tool.type, `${param}.type`, isKnown)
      return { ...own, function: functionOf(JSON.stringify(tool)) }
    }
  }
}

function hosted(type: string, param: string): GatewayError {
  const text = `'${param}': the gateway does not let the vendor run '${type}'. Leave it out, or send a tool that you run yourself.`
  return new GatewayError('unsupported_value', text, { param })
}

/** Why a tool or an item cannot be translated, with a warning for an unknown type. */
function native(type: string, param: string, isKnown: boolean): Native {
  const message = `'${param}': only models with native requests take '${type}'. Choose such a model, or send a function of your own.`
  const only = { problem: { param: unsent + param, message } }
  if (isKnown) return { only }
  const reason = 'The gateway does not know this type; the vendor decides whether it takes it.'
  return { only, warning: { param: unsent + param, requested: type, applied: type, reason } }
}

/** Why an item cannot be translated; undefined for other items. */
export function nativeItem(item: InputItem, param: string): Native | undefined {
  const type = 'type' in item ? item.type : 'message'
  const isKnown = isKnownItem(item)
  return isKnown && !type.startsWith('computer_')
    ? undefined
    : native(type, `${param}.type`, isKnown)
}

/** The tools in an item. */
export function toolsIn(item: InputItem): readonly Tool[] | undefined {
  const { type, tools } = item as Pick<Schemas['ResponseToolSearchOutput'], 'tools'> & {
    type?: string
  }
  return type === 'additional_tools' || type === 'tool_search_output' ? tools : undefined
}

/** The item for a translated request; what cannot be translated is counted as a text. */
export function plainItem(given: InputItem, nameOf: NameOf) {
  // Items of unknown types take the default branch.
  const item = ('type' in given ? given : { type: 'message', ...given }) as TypedItem
  switch (item.type) {
    case 'tool_search_call':
      return callOf(item, item.arguments)
    case 'apply_patch_call':
      return callOf(item, item.operation)
    case 'shell_call':
    case 'local_shell_call':
      return callOf(item, item.action)
    case 'computer_call':
      return callOf(item, item)
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
function callOf({ type, call_id: id }: { type: string; call_id?: string | null }, args: unknown) {
  if (id == null) return said('')
  const name = type.replace(/_call$/, '')
  return {
    type: 'function_call' as const,
    call_id: id,
    name,
    arguments: JSON.stringify(args ?? {}),
  }
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
