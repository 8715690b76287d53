import type { ChatRequest } from '../../core/chat/chat.ts'
import { functionsOnly, type FunctionRequest } from '../wire/function-tools.ts'
import { exampleOf } from './example.ts'
import type { Asked } from './scenario.ts'

type Tool = NonNullable<FunctionRequest['tools']>[number]
/** A call with arguments that the tool's schema allows. */
export type MadeCall = { name: string; arguments: string }

/**
 * The calls that the request forces or the prompt asks for; none after the results of calls, so
 * that loops end. A text instead tells why a call that is asked for cannot be made.
 */
export function callTools(given: ChatRequest, asked: Asked): MadeCall[] | string {
  const { request } = functionsOnly(given, 'The sandbox')
  if (request.messages.at(-1)?.role === 'tool') return []
  const { tools = [], tool_choice: choice } = request
  if (!asked.has('tool-call')) {
    return isForced(choice) ? callsOf(forced(tools, choice).slice(0, 1)) : []
  }
  if (choice === 'none') return "'sandbox:tool-call' cannot call a tool: tool_choice is 'none'."
  if (tools.length === 0) return "'sandbox:tool-call' needs 'tools' in the request."
  const offered = forced(tools, choice)
  const wanted = request.parallel_tool_calls === false ? asked.tools.slice(0, 1) : asked.tools
  const found = wanted.map((name) =>
    offered.find((tool) => name === '' || tool.function.name === name),
  )
  const missing = found.indexOf(undefined)
  if (missing < 0) return callsOf(found.filter((tool) => tool !== undefined))
  const names = offered.map((tool) => tool.function.name).join(', ')
  return `The request offers no tool '${wanted[missing]}' here. It offers: ${names.slice(0, 300)}.`
}

/** What the tools answered to the calls of the last turn, in words; undefined without one. */
export function quoteResults(request: ChatRequest, shorten: Shorten): string | undefined {
  const { messages } = functionsOnly(request, 'The sandbox').request
  const start = messages.findLastIndex(({ role }) => role !== 'tool') + 1
  if (start >= messages.length) return undefined
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name)
  }
  const results = messages.slice(start).flatMap((message) => {
    if (message.role !== 'tool') return []
    const name = names.get(message.tool_call_id) ?? 'tool'
    return `The tool ${name} answered: “${shorten(textOf(message.content))}”`
  })
  return results.join(' ')
}

type Shorten = (text: string) => string
type Choice = FunctionRequest['tool_choice']

function isForced(choice: Choice): boolean {
  return choice === 'required' || (typeof choice === 'object' && choice !== null)
}

/** The tools that the choice leaves. */
function forced(tools: readonly Tool[], choice: Choice): Tool[] {
  const named = typeof choice === 'object' ? choice.function.name : undefined
  return tools.filter((tool) => named === undefined || tool.function.name === named)
}

function callsOf(tools: readonly Tool[]): MadeCall[] {
  return tools.map(({ function: { name, parameters = {} } }) => ({
    name,
    arguments: JSON.stringify(exampleOf({ type: 'object', ...parameters })),
  }))
}

function textOf(content: ChatRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => ('text' in part ? part.text : '')).join(' ')
}
