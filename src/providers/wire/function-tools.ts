import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Notes } from './fields.ts'

type Schemas = components['schemas']
type Message = ChatRequest['messages'][number]
type AskedAnswer = Schemas['AssistantMessage']
type FunctionAnswer = Omit<AskedAnswer, 'tool_calls' | 'function_call'> & {
  tool_calls?: FunctionCall[] | null
}
type FunctionCall = Schemas['FunctionToolCall']
type FunctionTool = Schemas['FunctionTool']

/** A message in a conversation whose only tools are functions. */
export type FunctionMessage =
  | Exclude<Message, AskedAnswer | Schemas['FunctionMessage']>
  | FunctionAnswer
/** A request whose only tools are functions; most vendors accept nothing else. */
export type FunctionRequest = Omit<
  ChatRequest,
  'messages' | 'tools' | 'tool_choice' | 'functions' | 'function_call'
> & {
  messages: FunctionMessage[]
  tools?: FunctionTool[]
  tool_choice?: 'none' | 'auto' | 'required' | Schemas['FunctionToolChoice']
}

/** A request whose only tools are functions, with the problems and warnings of the conversion. */
export type FunctionsOnly = { request: FunctionRequest } & Notes

/**
 * Converts all tools of a request to functions; returns the same object if it has nothing else.
 * Deprecated `functions` become tools, `allowed_tools` filters the tools, and custom tools, which
 * have no counterpart, are problems.
 */
export function functionsOnly(request: ChatRequest, vendor: string): FunctionsOnly {
  const notes: Notes = { problems: [], warnings: [] }
  const messages = messagesOf(request.messages, vendor, notes)
  const { tools, tool_choice: choice, functions, function_call: called } = request
  const unchanged =
    messages === request.messages &&
    functions === undefined &&
    called === undefined &&
    (typeof choice !== 'object' || choice.type === 'function') &&
    tools?.every(({ type }) => type === 'function') !== false
  // The check above ensures that the request contains functions only.
  if (unchanged) return { request: request as FunctionRequest, ...notes }
  const { functions: _functions, function_call: _called, ...rest } = request
  const functionTools = toolsOf(request, vendor, notes)
  const plain = { ...rest, messages, tools: functionTools, tool_choice: undefined }
  return {
    request: { ...plain, ...choiceOf(request, functionTools ?? [], vendor, notes) },
    ...notes,
  }
}

function toolsOf(
  { tools, functions }: ChatRequest,
  vendor: string,
  { problems, warnings }: Notes,
): FunctionTool[] | undefined {
  if (functions !== undefined) {
    const reason = `${vendor} receives them as tools and returns tool calls.`
    warnings.push({ param: 'functions', requested: functions.length, applied: 'tools', reason })
  }
  const old = (functions ?? []).map((one) => ({ type: 'function', function: one }) as const)
  const given = tools?.flatMap((tool, index): FunctionTool | [] => {
    if (tool.type === 'function') return tool
    const message = `${vendor} does not accept custom tools. Describe '${tool.custom.name}' as a function.`
    problems.push({ param: `tools[${index}].type`, message })
    return []
  })
  return given === undefined && functions === undefined ? undefined : [...old, ...(given ?? [])]
}

function choiceOf(
  { tool_choice: choice, function_call: called }: ChatRequest,
  functionTools: readonly FunctionTool[],
  vendor: string,
  { problems, warnings }: Notes,
): Pick<FunctionRequest, 'tool_choice' | 'tools'> {
  if (choice === undefined) {
    if (called === undefined) return {}
    if (typeof called === 'string') return { tool_choice: called }
    return { tool_choice: { type: 'function', function: called } }
  }
  if (typeof choice === 'string' || choice.type === 'function') return { tool_choice: choice }
  if (choice.type === 'custom') {
    problems.push({ param: 'tool_choice.type', message: `${vendor} does not accept custom tools.` })
    return {}
  }
  const { mode, tools } = choice.allowed_tools
  const names = new Set(tools.map((tool) => (tool.type === 'function' ? tool.function.name : '')))
  const reason = `${vendor} receives only the allowed tools.`
  warnings.push({ param: 'tool_choice', requested: choice.type, applied: mode, reason })
  return { tool_choice: mode, tools: functionTools.filter((tool) => names.has(tool.function.name)) }
}

function messagesOf(messages: ChatRequest['messages'], vendor: string, notes: Notes) {
  // The check ensures that all messages are function messages.
  if (!messages.some(isOther)) return messages as FunctionMessage[]
  let latest = ''
  return messages.map((message, index): FunctionMessage => {
    if (message.role === 'function') {
      return { role: 'tool', tool_call_id: latest, content: message.content ?? '' }
    }
    if (message.role !== 'assistant') return message
    const { function_call: called, tool_calls: calls, ...said } = message
    const old: FunctionCall[] = []
    if (called) {
      latest = `call_${index}`
      old.push({ id: latest, type: 'function', function: called })
    }
    const given = (calls ?? []).flatMap((call, place): FunctionCall | [] => {
      if (call.type === 'function') return call
      const message = `${vendor} does not accept calls of custom tools. Choose another model.`
      notes.problems.push({ param: `messages[${index}].tool_calls[${place}].type`, message })
      return []
    })
    return old.length + given.length === 0 ? said : { ...said, tool_calls: [...old, ...given] }
  })
}

/** Whether a message contains custom tool calls or the deprecated form of functions. */
function isOther(message: Message): boolean {
  if (message.role === 'function') return true
  if (message.role !== 'assistant') return false
  return (
    message.function_call !== undefined ||
    message.tool_calls?.some(({ type }) => type !== 'function') === true
  )
}
