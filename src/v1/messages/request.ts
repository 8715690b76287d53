import { hash } from 'node:crypto'
import { bodyMembers } from '../../../generated/operations.ts'
import type { components } from '../../../generated/types.ts'
import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import type { TranslatedChat } from '../../core/chat/read-chat.ts'
import type { ThoughtSeal } from '../../core/chat/sealed-thoughts.ts'
import { GatewayError } from '../../core/error.ts'
import { prune } from '../../core/prune.ts'
import { dropped, type Model, type Warning } from '../../core/model.ts'
import { parameterName } from '../native-only.ts'
import { readConversation, type Conversation } from './conversation.ts'
import {
  limitedTools,
  readSearch,
  type ReadSearch,
  readVendorTool,
  type VendorTool,
} from './tools.ts'

type Schemas = components['schemas']
type MessageBody = Schemas['CreateMessageRequest']
/** Translates a Messages request (docs/messages.md#fields). Throws a GatewayError. */
export function readRequest(
  body: MessageBody,
  model: Model | undefined,
  seal: ThoughtSeal,
): TranslatedChat {
  refuseVendorFields(body)
  const conversation = readConversation(body, seal)
  const { warnings, lost } = ignoredFields(body)
  const { thinking, output_config: output = {}, temperature, top_p, cache_control } = body
  const search = readSearch(body)
  const { choice, others } = search
  const tools = others.map(({ tool, index }) =>
    isVendorTool(tool) ? readVendorTool(tool, index) : { function: toolOf(tool) },
  )
  for (const { warning } of tools) if (warning !== undefined) warnings.push(warning)
  warnings.push(...search.warnings)
  lost.push(...conversation.lost, ...search.lost)
  const effort = effortOf(thinking, output.effort)
  const request: ChatRequest = {
    model: body.model,
    messages: conversation.messages,
    max_tokens: tokensMaxOf(body.max_tokens, model, warnings),
    ...(body.stream === true ? { stream: true } : {}),
    ...prune({ temperature, top_p, stop: body.stop_sequences, cache_control }),
    ...userOf(body.metadata?.user_id),
    ...(body.tools === undefined ? {} : { tools: tools.map((tool) => tool.function) }),
    ...search.options,
    ...(choice === undefined ? {} : choiceOf(choice)),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(output.format === undefined ? {} : { response_format: formatOf(output.format) }),
  }
  const only = tools.find((tool) => tool.only !== undefined)?.only
  const nameOf = naming(conversation, search)
  return { request, warnings, lost, only, nameOf }
}

/** Fields that change what the model can do, so that a call without them would be a different call. */
const vendorFields: Readonly<Record<string, string>> = {
  container: 'Containers run only at Anthropic. Leave it out, and run code in a tool of your own.',
  inference_geo: 'The gateway cannot choose where a vendor runs a model. Leave it out.',
  mcp_servers: 'The gateway does not call tool servers. Call their tools yourself, as `tools`.',
}

function refuseVendorFields(body: MessageBody): void {
  for (const [name, remedy] of Object.entries(vendorFields)) {
    // These members are not in the contract, so their values are unknown.
    const value = (body as Record<string, unknown>)[name]
    const isEmpty = value === null || value === undefined
    if (isEmpty || (Array.isArray(value) && value.length === 0)) continue
    throw new GatewayError('unsupported_parameter', remedy, { param: name })
  }
}

const known: ReadonlySet<string> = new Set<string>(bodyMembers.createMessage)

function ignoredFields(body: MessageBody): Pick<TranslatedChat, 'warnings' | 'lost'> {
  const { top_k: topK, speed, service_tier: tier, context_management: management } = body
  const [warnings, lost]: [Warning[], Warning[]] = [[], []]
  if (topK !== undefined)
    lost.push(dropped('top_k', topK, 'Send `top_p` to narrow the choice of tokens.'))
  if (tier === 'standard_only')
    lost.push(dropped('service_tier', tier, 'The vendor chooses the service tier.'))
  if (management !== undefined) {
    const reason = 'The gateway sends the conversation unchanged.'
    lost.push(dropped('context_management', management, reason))
  }
  if (speed === 'fast')
    warnings.push(dropped('speed', speed, 'The gateway calls models at their standard speed.'))
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name) || value === null || name in vendorFields) continue
    warnings.push(dropped(name, value, 'The gateway does not support this field.'))
  }
  return { warnings, lost }
}

/** The members for a vendor of this API: those of the contract, without options that have no price. */
export function nativeBody(body: MessageBody): Readonly<Record<string, unknown>> {
  const members = Object.entries(body).filter(([name]) => known.has(name) && name !== 'speed')
  const { tools } = body
  return {
    ...Object.fromEntries(members),
    ...(tools === undefined ? {} : { tools: limitedTools(tools) }),
  }
}

/** Clients of Claude models request more tokens than many other models can write. */
function tokensMaxOf(tokensMax: number, model: Model | undefined, warnings: Warning[]): number {
  const { max_output_tokens: most = tokensMax, id = '', doubtful } = model?.row ?? {}
  if (tokensMax <= most || doubtful?.includes('max_output_tokens')) return tokensMax
  const reason = `${id} writes at most ${most} tokens.`
  warnings.push({ param: 'max_tokens', requested: tokensMax, applied: most, reason })
  return most
}

/** OpenAI takes 64 characters, Z.AI at least 6, DeepSeek only these characters. */
const plainUser = /^[\w-]{6,64}$/

/** The end user; an id that not every vendor takes, such as Claude Code's JSON, becomes its digest. */
function userOf(id = ''): Pick<ChatRequest, 'user'> {
  if (id === '') return {}
  return { user: plainUser.test(id) ? id : hash('sha256', id, 'base64url') }
}

const [lowTokensMax, mediumTokensMax] = [4096, 16_384]

/** The effort of a thinking budget; Anthropic's default for adaptive thinking is `high`. */
function effortOf(
  thinking: MessageBody['thinking'],
  effort: Schemas['MessageOutputConfig']['effort'],
): ReasoningEffort | undefined {
  switch (thinking?.type) {
    case undefined:
      return effort
    case 'disabled':
      return 'none'
    case 'enabled': {
      const { budget_tokens: budget = mediumTokensMax } = thinking
      if (effort !== undefined) return effort
      return budget < lowTokensMax ? 'low' : budget < mediumTokensMax ? 'medium' : 'high'
    }
    case 'adaptive':
    case 'between_tools':
      return effort ?? 'high'
  }
}

function isVendorTool(tool: Schemas['MessageTools'][number]): tool is VendorTool {
  return tool.type !== undefined && tool.type !== 'custom'
}

function toolOf(tool: Schemas['MessageTool']): Schemas['FunctionTool'] {
  const { name, description, input_schema: parameters, strict } = tool
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(strict === undefined ? {} : { strict }),
    },
    ...(tool.cache_control === undefined ? {} : { cache_control: tool.cache_control }),
  }
}

function choiceOf(
  choice: Schemas['MessageToolChoice'],
): Pick<ChatRequest, 'tool_choice' | 'parallel_tool_calls'> {
  const single = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}
  if (choice.type === 'tool') {
    return { tool_choice: { type: 'function', function: { name: choice.name } }, ...single }
  }
  return { tool_choice: choice.type === 'any' ? 'required' : choice.type, ...single }
}

function formatOf({ schema }: Schemas['MessageOutputFormat']): Schemas['JsonSchemaFormat'] {
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
}

/** The vendor's forms of a value have one name here. */
const fields = [
  [/^parallel_tool_calls\b.*/, 'tool_choice.disable_parallel_tool_use'],
  [/^reasoning_effort\b.*/, 'thinking'],
  [/^response_format\b.*/, 'output_config.format'],
  [/^stop\b.*/, 'stop_sequences'],
  [/^user\b.*/, 'metadata.user_id'],
  [/^tool_choice\.function/, 'tool_choice'],
] as const

const searchMembers: Readonly<Record<string, string>> = {
  '': '.type',
  '.max_searches': '.max_uses',
}

function naming({ places }: Conversation, search: ReadSearch): TranslatedChat['nameOf'] {
  const names = {
    message: (index: number) => places[index] ?? 'messages',
    tool: (index: number, rest: string) => {
      const own = rest.replace(/^\.function\b/, '').replace(/^\.parameters\b/, '.input_schema')
      return `tools[${search.others[index]?.index ?? index}]${own}`
    },
    search: (member: string) => `tools[${search.index}]${searchMembers[member] ?? member}`,
    fields,
  }
  return (param) => parameterName(param, names)
}
