import { hash } from 'node:crypto'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { conversationText } from '../../core/chat/estimate.ts'
import { exampleOf } from './example.ts'
import { countTokens, tokensOf } from './tokens.ts'

/** An answer of the sandbox in tokens, determined by the request. */
export type Said = {
  id: string
  model: string
  /** The text, which is the same for each choice. */
  tokens: string[]
  toolCalls: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  finishReason: 'stop' | 'length' | 'tool_calls'
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

const echoedCharactersMax = 240
/** The tokens that an image, audio or file part counts for. */
const tokensPerMedium = 85

/** Answers a conversation deterministically, within `max_tokens` and `stop`. */
export function say(request: ChatRequest): Said {
  const id = `chatcmpl-${hash('sha256', JSON.stringify(request), 'hex').slice(0, 24)}`
  const promptTokens = countTokens(conversationText(request)) + mediaIn(request) * tokensPerMedium
  const toolCalls = callTools(request, id)
  if (toolCalls.length > 0) {
    const spent = toolCalls.map((call) => call.function.name + call.function.arguments).join('')
    const usage = usageOf(promptTokens, countTokens(spent))
    return { id, model: request.model, tokens: [], toolCalls, finishReason: 'tool_calls', usage }
  }
  const all = tokensOf(beforeStop(textFor(request), request.stop))
  const most = request.max_completion_tokens ?? request.max_tokens ?? Infinity
  const tokens = all.slice(0, most)
  const usage = usageOf(promptTokens, tokens.length * (request.n ?? 1))
  const finishReason = tokens.length < all.length ? 'length' : 'stop'
  return { id, model: request.model, tokens, toolCalls: [], finishReason, usage }
}

/** The prompt: the text of the last message of the user. */
export function lastWords({ messages }: ChatRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  if (last === undefined) return ''
  if (typeof last.content === 'string') return last.content
  return (last.content ?? []).map((part) => ('text' in part ? part.text : '')).join(' ')
}

function usageOf(promptTokens: number, completionTokens: number): Said['usage'] {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}

function mediaIn({ messages }: ChatRequest): number {
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type !== 'text' && type !== 'refusal').length
}

function textFor(request: ChatRequest): string {
  const format = request.response_format
  if (format?.type === 'json_object') {
    return JSON.stringify({ model: request.model, echo: echo(request) })
  }
  if (format?.type === 'json_schema') return JSON.stringify(exampleOf(format.json_schema.schema))
  const turns = request.messages.length
  return (
    `This is the sandbox, answering as ${request.model}. ` +
    `It read ${turns} ${turns === 1 ? 'message' : 'messages'}, and the last one says: “${echo(request)}” ` +
    'A live key reaches the real model.'
  )
}

function echo(request: ChatRequest): string {
  const words = lastWords(request)
  return words.length > echoedCharactersMax ? `${words.slice(0, echoedCharactersMax)}…` : words
}

function beforeStop(text: string, stop: ChatRequest['stop']): string {
  const marks = [stop ?? []].flat().filter((mark) => mark !== '')
  const ends = marks.map((mark) => text.indexOf(mark)).filter((at) => at >= 0)
  return text.slice(0, Math.min(text.length, ...ends))
}

/** Calls a tool when `tool_choice` forces it, with arguments that the tool's schema allows. */
function callTools(request: ChatRequest, id: string): Said['toolCalls'] {
  const { tools = [], tool_choice: choice } = request
  const named = typeof choice === 'object' ? choice.function.name : undefined
  if (named === undefined && choice !== 'required') return []
  const tool = tools.find(({ function: { name } }) => named === undefined || name === named)
  if (tool === undefined) return []
  const { name, parameters = {} } = tool.function
  const call = { name, arguments: JSON.stringify(exampleOf({ type: 'object', ...parameters })) }
  return [{ id: id.replace('chatcmpl-', 'call_'), type: 'function', function: call }]
}
