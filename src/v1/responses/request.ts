import type { components } from '../../../generated/types.ts'
import { bodyMembers } from '../../../generated/operations.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import type { TranslatedChat } from '../../core/chat/read-chat.ts'
import { userLocation } from '../../core/chat/web-search.ts'
import { GatewayError } from '../../core/error.ts'
import { prune } from '../../core/prune.ts'
import { dropped, type Warning } from '../../core/model.ts'
import { parameterName } from '../native-only.ts'
import { askForSummary, isCompacting } from './compaction.ts'
import { toolsIn } from './client-tools.ts'
import { readItems, type InputItem, type ItemOptions } from './conversation.ts'
import { searchesMax } from '../../core/money/upper-cost.ts'
import {
  imageFunction,
  isSearchTool,
  toolTable,
  type SearchTool,
  type ToolOptions,
  type Tools,
} from './tools.ts'

type Schemas = components['schemas']
export type ResponseRequest = Schemas['CreateResponseRequest']
/** A request with a list of items, without references to stored ones. */
export type ItemsRequest = Omit<ResponseRequest, 'input'> & {
  input: readonly InputItem[]
}

/** A request in the canonical form. */
export type ReadRequest = TranslatedChat & {
  tools: Tools
  /** Whether the answer is a compaction of the conversation. */
  compacts: boolean
}

type Options = Pick<ItemOptions, 'open'> & Omit<ToolOptions, 'warnings' | 'lost'>

/** Converts a request. Throws a GatewayError that names what this API of the gateway does not do. */
export function readRequest(body: ItemsRequest, options: Options): ReadRequest {
  const [warnings, lost]: [Warning[], Warning[]] = [[], []]
  refuseUnsupported(body)
  const { input: items } = body
  const compacts = isCompacting(items)
  const table = toolTable({ ...options, warnings, lost })
  const none = () => undefined
  const tools = compacts ? { ...table, images: none, search: none } : table
  tools.add(body.tools ?? [], 'tools')
  for (const [index, item] of items.entries()) {
    const found = toolsIn(item)
    if (found !== undefined) tools.add(found, `input[${index}].tools`)
  }
  const conversation = readItems(items, { ...options, tools, warnings })
  const { messages, params, only = tools.only() } = conversation
  if (compacts) askForSummary(messages)
  if (body.instructions) {
    messages.unshift({ role: 'developer', content: body.instructions })
    params.unshift('instructions')
  }
  const { reasoning, text, max_output_tokens: most } = configured(body)
  const [choice, format] = compacts ? ['none' as const] : [body.tool_choice, text?.format]
  const request: ChatRequest = {
    ...sameFields(body, warnings),
    model: body.model,
    messages,
    ...(tools.list.length === 0 ? {} : { tools: tools.list }),
    ...writeChoice(choice, tools, { ...options, lost }),
    ...searchOptions(tools.search(), body.max_tool_calls),
    ...(most == null ? {} : { max_completion_tokens: most }),
    ...(reasoning?.effort == null ? {} : { reasoning_effort: reasoning.effort }),
    ...(format === undefined ? {} : { response_format: writeFormat(format) }),
    ...(text?.verbosity == null ? {} : { verbosity: text.verbosity }),
  }
  const nameOf = naming({ messages, params, tools })
  return { request, tools, warnings, lost, only, compacts, nameOf }
}

/** The request with the settings of its items. */
function configured(body: ItemsRequest): ItemsRequest {
  return body.input.reduce((before, item) => {
    if (!('type' in item) || item.type !== 'configuration_update') return before
    const { reasoning, text } = item as Schemas['ResponseConfigurationUpdate']
    return {
      ...before,
      reasoning: { ...before.reasoning, ...reasoning },
      text: { ...before.text, ...text },
    }
  }, body)
}

type Written = Pick<ChatRequest, 'tool_choice'>

/** The choice of a tool in the form of the chat API. Throws a GatewayError for a missing hosted tool. */
function writeChoice(
  choice: Schemas['CreateResponseRequest']['tool_choice'],
  tools: Tools,
  { takesCustom, lost }: Pick<ToolOptions, 'takesCustom' | 'lost'>,
): Written {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  const { find, images } = tools
  const named = (chosen: NamedChoice): Schemas['NamedTool'] => {
    const isHosted = chosen.type === 'image_generation'
    if (isHosted && images() === undefined) throw missing(imageFunction)
    const name = 'name' in chosen ? chosen.name : chosen.type
    return find(name).isCustom && takesCustom
      ? { type: 'custom', custom: { name } }
      : { type: 'function', function: { name } }
  }
  if (choice.type !== 'allowed_tools') {
    return isSearchTool(choice)
      ? searchChoice(choice.type, tools, lost)
      : { tool_choice: named(choice) }
  }
  const { mode, tools: allowed } = choice
  const others = allowed.filter((one): one is NamedChoice => !isSearchTool(one))
  if (others.length === 0) return searchChoice('web_search', tools, lost)
  return {
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools: others.map(named) } },
  }
}

type NamedChoice = Exclude<
  Schemas['ResponseNamedChoice'],
  { type: 'web_search' | 'web_search_preview' }
>

/** The chat API cannot name the search, but can force it if it is the only tool. */
function searchChoice(type: string, { list, search }: Tools, lost: Warning[]): Written {
  if (search() === undefined) throw missing(type)
  if (list.length === 0) return { tool_choice: 'required' }
  lost.push(dropped('tool_choice', type, 'The model decides itself whether it searches.'))
  return {}
}

function missing(tool: string): GatewayError {
  const text = `The tool '${tool}' is not in \`tools\`. Add it, or leave out \`tool_choice\`.`
  return new GatewayError('invalid_value', text, { param: 'tool_choice' })
}

/** The search of the web as the chat API has it. The number of searches is always limited. */
function searchOptions(
  tool: SearchTool | undefined,
  callsMax: number | null | undefined,
): Pick<ChatRequest, 'web_search_options'> {
  if (tool === undefined) return {}
  const { search_context_size, user_location: place, filters, external_web_access } = tool.settings
  const { allowed_domains, blocked_domains } = filters ?? {}
  return {
    web_search_options: {
      max_searches: Math.min(callsMax ?? searchesMax, searchesMax),
      ...userLocation(place),
      ...prune({ search_context_size, allowed_domains, blocked_domains, external_web_access }),
    },
  }
}

/** Members that the gateway answers itself. */
const own: ReadonlySet<string> = new Set([
  'background',
  'max_tool_calls',
  'models',
  'previous_response_id',
  'store',
])

/**
 * The members for a vendor of this API: those of the contract. The number of searches is limited; without
 * `request.web_search_options` none are made.
 */
export function nativeBody(
  body: ItemsRequest,
  { web_search_options: search }: ChatRequest,
): Readonly<Record<string, unknown>> {
  const members = Object.entries(body).filter(([name]) => read.has(name) && !own.has(name))
  if (search != null) {
    return { ...Object.fromEntries(members), max_tool_calls: search.max_searches }
  }
  const { tools, input } = body
  return {
    ...Object.fromEntries(members),
    ...(tools == null ? {} : { tools: withoutSearch(tools) }),
    input: input.map((item) => {
      const found = toolsIn(item)
      return found === undefined ? item : { ...item, tools: withoutSearch(found) }
    }),
  }
}

function withoutSearch(tools: readonly Schemas['ResponseTool'][]) {
  return tools.filter((tool) => !isSearchTool(tool) && tool.type !== 'image_generation')
}

/** Options that change the answer, and that only OpenAI itself can honour. */
const unsupported: Readonly<Record<string, string>> = {
  access_programs: 'Leave it out.',
  context_management:
    'Leave it out, and end `input` with a `compaction_trigger` when it gets too long.',
  conversation: 'Send the whole conversation in `input`.',
  image: 'Leave it out.',
  moderation: 'Leave it out.',
  prompt: 'Send the text of the prompt in `input`.',
}

function refuseUnsupported(body: ItemsRequest): void {
  for (const [name, value] of Object.entries(body)) {
    if (!Object.hasOwn(unsupported, name) || value === null || value === false) continue
    const message = `The gateway does not support '${name}' in this API. ${unsupported[name]}`
    throw new GatewayError('unsupported_parameter', message, { param: name })
  }
}

/** Fields with the same name and meaning in the chat API. */
const same: ReadonlySet<string> = new Set([
  'metadata',
  'models',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'stream',
  'temperature',
  'top_p',
  'user',
])
const read: ReadonlySet<string> = new Set(bodyMembers.createResponse)

function sameFields(body: ItemsRequest, warnings: Warning[]): Partial<ChatRequest> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) {
    if (same.has(name)) fields[name] = value
    else if (!read.has(name) && !Object.hasOwn(unsupported, name)) {
      warnings.push(dropped(name, value, 'The gateway does not know this field.'))
    }
  }
  // The contract gives the fields the same types in both APIs.
  return fields
}

function writeFormat(format: Schemas['ResponseTextFormat']): Schemas['ChatResponseFormat'] {
  if (format.type !== 'json_schema') return format
  const { type, name, description, schema, strict } = format
  return { type, json_schema: { name, schema, ...prune({ description, strict }) } }
}

/** The names of the chat API in this API. */
const fields = [
  [/^max_completion_tokens$/, 'max_output_tokens'],
  [/^messages$/, 'input'],
  [/^reasoning_effort$/, 'reasoning.effort'],
  [/^verbosity$/, 'text.verbosity'],
  [/^response_format(?:\.json_schema)?/, 'text.format'],
  [/^tool_choice\.(?:function|custom)\./, 'tool_choice.'],
] as const

type Places = ReturnType<typeof readItems> & { tools: Tools }

function naming({ messages, params, tools }: Places): ReadRequest['nameOf'] {
  const names = {
    message: (index: number, rest: string) => {
      const place = params[index] ?? 'input'
      const [part = ''] = /^\.content\[\d+\]/.exec(rest) ?? []
      if (messages[index]?.role === 'tool') return place + part.replace('content', 'output')
      return rest.startsWith('.images[') ? `${place}.result` : place + part
    },
    tool: (index: number, rest: string) =>
      tools.paramOf(index) + rest.replace(/^\.(?:function|custom)\b/, ''),
    search: (member: string) => {
      const param = tools.search()?.param ?? 'tools'
      if (member === '') return `${param}.type`
      if (member === '.max_searches') return 'max_tool_calls'
      return param + member.replace(/^\.(?=\w+_domains)/, '.filters.')
    },
    fields,
  }
  return (param) => parameterName(param, names)
}
