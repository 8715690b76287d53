import type { ChatRequest } from '../../core/chat/chat.ts'
import { exampleOf } from './example.ts'
import type { Scene } from './scenario.ts'

/** `old` are deprecated functions. */
type Kind = 'function' | 'custom' | 'old'
type Tool = { kind: Kind; name: string; parameters?: object }
/** A call with arguments that match the tool's schema, or with text for a custom tool. */
export type MadeCall = { kind: Kind; name: string; arguments: string }

/**
 * The calls that the request forces or the prompt requests. After a tool result there are no calls,
 * so that loops end. Returns a complaint instead if a requested call is impossible.
 */
export function callTools(request: ChatRequest, script: Scene): MadeCall[] | string {
  if (isResult(request.messages.at(-1)?.role)) return []
  const { tools, isForced, isForbidden } = offeredBy(request)
  if (!script.has('tool-call')) return isForced ? tools.slice(0, 1).map(callOf) : []
  if (isForbidden) return "'sandbox:tool-call' cannot call a tool: tool_choice is 'none'."
  if (tools.length === 0) return "'sandbox:tool-call' needs 'tools' in the request."
  const isOne = request.parallel_tool_calls === false || tools[0]!.kind === 'old'
  const wanted = isOne ? script.tools.slice(0, 1) : script.tools
  const found = wanted.map((name) => tools.find((tool) => name === '' || tool.name === name))
  const missing = found.indexOf(undefined)
  if (missing < 0) return found.filter((tool) => tool !== undefined).map(callOf)
  const names = tools.map(({ name }) => name).join(', ')
  return `The request offers no tool '${wanted[missing]}' here. It offers: ${names.slice(0, 300)}.`
}

function isResult(role: string | undefined): boolean {
  return role === 'tool' || role === 'function'
}

type Offered = { tools: Tool[]; isForced: boolean; isForbidden: boolean }

/** The tools that `tool_choice` or the deprecated `function_call` allows. */
function offeredBy(request: ChatRequest): Offered {
  const { tools = [], functions = [], tool_choice: choice, function_call: called } = request
  const all: Tool[] = [
    ...tools.map((tool): Tool =>
      tool.type === 'function'
        ? { kind: 'function', ...tool.function }
        : { kind: 'custom', name: tool.custom.name },
    ),
    ...functions.map((one): Tool => ({ kind: 'old', ...one })),
  ]
  const only = (names: readonly string[], isForced: boolean): Offered => {
    return { tools: all.filter(({ name }) => names.includes(name)), isForced, isForbidden: false }
  }
  if (typeof choice === 'object' && choice.type === 'allowed_tools') {
    const { mode, tools: allowed } = choice.allowed_tools
    return only(allowed.map(nameOf), mode === 'required')
  }
  if (typeof choice === 'object') return only([nameOf(choice)], true)
  if (typeof called === 'object') return only([called.name], true)
  const isForbidden = choice === 'none' || called === 'none'
  return { tools: all, isForced: choice === 'required', isForbidden }
}

type Named = Extract<Exclude<ChatRequest['tool_choice'], string>, { type: 'function' | 'custom' }>

function nameOf(tool: Named): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name
}

const customInput = 'This is what the sandbox writes for a custom tool.'

function callOf({ kind, name, parameters = {} }: Tool): MadeCall {
  const example = () => JSON.stringify(exampleOf({ type: 'object', ...parameters }))
  return { kind, name, arguments: kind === 'custom' ? customInput : example() }
}

type Shorten = (text: string) => string

/** Quotes the tool results after the last turn; undefined if the last message is not a result. */
export function quoteResults({ messages }: ChatRequest, shorten: Shorten): string | undefined {
  const start = messages.findLastIndex(({ role }) => !isResult(role)) + 1
  if (start >= messages.length) return undefined
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const call of message.tool_calls ?? []) {
      names.set(call.id, call.type === 'function' ? call.function.name : call.custom.name)
    }
  }
  const results = messages.slice(start).map((message) => {
    const called = message.role === 'tool' ? names.get(message.tool_call_id) : undefined
    const name = message.role === 'function' ? message.name : (called ?? 'tool')
    return `The tool ${name} answered: “${shorten(textOf(message.content))}”`
  })
  return results.join(' ')
}

function textOf(content: ChatRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ')
}
