import { chatMembers } from '../../../generated/chat-members.ts'
import { dropped, type Warning } from '../model.ts'
import type { ChatRequest } from './chat.ts'

type Names = readonly string[]
const { messages, parts, calls, tools, jsonSchema, streamOptions } = chatMembers
const namedTool = [...messages['tool']!.own, 'name']
/** A call or a tool may have members of another type. */
const [callNames, toolNames] = [calls, tools].map((types) =>
  Object.values(types).flatMap(({ own }) => own),
)
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
  const look = (value: unknown, listed: Names | undefined, path: string) => {
    if (listed === undefined) return
    for (const [name, given] of Object.entries(value ?? {})) {
      if (listed.includes(name) || leftovers.has(name) || saysNothing(given)) continue
      found.push(dropped(`${path}.${name}`, given, reason))
    }
  }
  const lookAt = (value: Typed, types: typeof parts, path: string, own?: Names) => {
    const members = types[value.type]
    look(value, own ?? members?.own, path)
    look(value[value.type], members?.within, `${path}.${value.type}`)
  }
  const names = new Map<string, string>()
  for (const [index, message] of request.messages.entries()) {
    const path = `messages[${index}]`
    const repeats = message.role === 'tool' && namedAs(message, names.get(message.tool_call_id))
    look(message, repeats ? namedTool : messages[message.role]?.own, path)
    for (const [place, part] of listOf(message.content).entries()) {
      lookAt(part, parts, `${path}.content[${place}]`)
    }
    const called = message.role === 'assistant' ? (message.tool_calls ?? []) : []
    for (const [place, call] of called.entries()) {
      if (call.type === 'function') names.set(call.id, call.function.name)
      lookAt(call, calls, `${path}.tool_calls[${place}]`, callNames)
    }
  }
  for (const [index, one] of (request.tools ?? []).entries()) {
    lookAt(one, tools, `tools[${index}]`, toolNames)
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
