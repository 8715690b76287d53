import type { components } from '../../../generated/types.ts'
import { dropped, type Warning } from '../model.ts'
import type { ChatRequest } from './chat.ts'

type Schemas = components['schemas']
type Role = Schemas['ChatMessage']['role']
type PartType = Schemas['ContentPart']['type']
/** All members in the contract; a new member is a compile error until it is listed here. */
type Listed<T> = Record<T extends unknown ? keyof T : never, true>

const instruction: Listed<Schemas['InstructionMessage']> = { role: true, content: true, name: true }
const messages: { [R in Role]: Record<string, true> } = {
  system: instruction,
  developer: instruction,
  user: { role: true, content: true, name: true } satisfies Listed<Schemas['UserMessage']>,
  assistant: {
    role: true,
    content: true,
    name: true,
    refusal: true,
    reasoning_content: true,
    images: true,
    tool_calls: true,
    function_call: true,
  } satisfies Listed<Schemas['AssistantMessage']>,
  tool: { role: true, content: true, tool_call_id: true } satisfies Listed<Schemas['ToolMessage']>,
  function: { role: true, content: true, name: true } satisfies Listed<Schemas['FunctionMessage']>,
}
const namedTool = { ...messages.tool, name: true as const }
const parts: { [T in PartType]: Record<string, true> } = {
  text: { type: true, text: true, cache_control: true } satisfies Listed<Schemas['TextPart']>,
  refusal: { type: true, refusal: true } satisfies Listed<Schemas['RefusalPart']>,
  image_url: {
    type: true,
    image_url: true,
    cache_control: true,
  } satisfies Listed<Schemas['ImagePart']>,
  input_audio: { type: true, input_audio: true } satisfies Listed<Schemas['AudioPart']>,
  file: { type: true, file: true, cache_control: true } satisfies Listed<Schemas['FilePart']>,
}
/** The members inside a content part, by the type of the part. */
const media: Partial<Record<PartType, Record<string, true>>> = {
  image_url: { url: true, detail: true } satisfies Listed<Schemas['ImagePart']['image_url']>,
  input_audio: { data: true, format: true } satisfies Listed<Schemas['AudioPart']['input_audio']>,
  file: { file_data: true, file_id: true, filename: true } satisfies Listed<
    Schemas['FilePart']['file']
  >,
}
const toolCall: Listed<Schemas['ToolCall']> = {
  id: true,
  type: true,
  function: true,
  custom: true,
  extra_content: true,
}
const tool: Listed<Schemas['Tool']> = {
  type: true,
  function: true,
  custom: true,
  cache_control: true,
}
/** The members inside a tool call or a tool, by the type of the call or tool. */
const called = {
  function: { name: true, arguments: true } satisfies Listed<Schemas['FunctionCall']>,
  custom: { name: true, input: true } satisfies Listed<Schemas['CustomToolCall']['custom']>,
}
const tools = {
  function: {
    name: true,
    description: true,
    parameters: true,
    strict: true,
  } satisfies Listed<Schemas['FunctionDefinition']>,
  custom: {
    name: true,
    description: true,
    format: true,
  } satisfies Listed<Schemas['CustomTool']['custom']>,
}
const jsonSchema: Listed<Schemas['JsonSchemaFormat']['json_schema']> = {
  name: true,
  description: true,
  schema: true,
  strict: true,
}
const streamOptions: Listed<Schemas['StreamOptions']> = {
  include_usage: true,
  include_obfuscation: true,
}
/**
 * Vendor-specific or redundant members of answers that clients send back in the history
 * (docs/behaviour.md#chat). They give no warning.
 */
const leftovers: ReadonlySet<string> = new Set([
  'annotations',
  'parsed',
  'parsed_arguments',
  'reasoning',
  'reasoning_details',
])

/**
 * A warning for each member of messages, tools and options that is not in the contract: it is not sent to
 * vendors with their own format. Members that are null or empty lists give no warning.
 */
export function unlistedMembers(request: ChatRequest, reason: string): Warning[] {
  const found: Warning[] = []
  const look = (value: unknown, listed: Record<string, true> | undefined, path: string) => {
    if (listed === undefined) return
    for (const [name, given] of Object.entries(value ?? {})) {
      if (Object.hasOwn(listed, name) || leftovers.has(name) || saysNothing(given)) continue
      found.push(dropped(`${path}.${name}`, given, reason))
    }
  }
  const lookAt = (value: Typed, listed: Record<string, true>, within: Within, path: string) => {
    look(value, listed, path)
    look(value[value.type], within[value.type], `${path}.${value.type}`)
  }
  const names = new Map<string, string>()
  for (const [index, message] of request.messages.entries()) {
    const path = `messages[${index}]`
    const repeats = message.role === 'tool' && namedAs(message, names.get(message.tool_call_id))
    look(message, repeats ? namedTool : messages[message.role], path)
    for (const [place, part] of listOf(message.content).entries()) {
      lookAt(part, parts[part.type], media, `${path}.content[${place}]`)
    }
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
    for (const [place, call] of calls.entries()) {
      if (call.type === 'function') names.set(call.id, call.function.name)
      lookAt(call, toolCall, called, `${path}.tool_calls[${place}]`)
    }
  }
  for (const [index, one] of (request.tools ?? []).entries()) {
    lookAt(one, tool, tools, `tools[${index}]`)
  }
  look(request.stream_options, streamOptions, 'stream_options')
  const format = request.response_format
  if (format?.type === 'json_schema') {
    look(format.json_schema, jsonSchema, 'response_format.json_schema')
  }
  return found
}

/** An object with its members below the name of its type, like OpenAI's parts, calls and tools. */
type Typed = { readonly type: string; readonly [name: string]: unknown }
type Within = Readonly<Record<string, Record<string, true> | undefined>>

function listOf(content: ChatRequest['messages'][number]['content']) {
  return Array.isArray(content) ? content : []
}

/** Whether a tool result repeats the name of its call, as clients of older versions do. */
function namedAs(message: object, called: string | undefined): boolean {
  return 'name' in message && message.name === called
}

function saysNothing(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}
