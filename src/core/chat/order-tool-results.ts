import { GatewayError } from '../error.ts'
import type { Problem, Warning } from '../model.ts'
import type { ChatRequest } from './chat.ts'

type Message = ChatRequest['messages'][number]
type Result = Extract<Message, { role: 'tool' | 'function' }>
type Call = {
  /** The index of the message with the call. */
  at: number
  param: string
  answer: (content: string) => Result
  /** The index of the message with the result. */
  result?: number
  isMoved?: boolean
}

/** A conversation in which each tool result directly follows its call. */
export type OrderedToolResults = ReturnType<typeof settle>

const noResult = 'No result.'
const shownCharactersMax = 100

/**
 * Reorders a conversation for vendors that require each result right after its call. A call without a result,
 * for example of an agent that was stopped, gets a placeholder result. Undefined when nothing changes. Throws a
 * GatewayError for a result without a call, a second result, and unanswered calls in the last message.
 */
export function orderToolResults(
  messages: ChatRequest['messages'],
): OrderedToolResults | undefined {
  if (!messages.some(hasCalls) && !messages.some(isResult)) return undefined
  const turns = readTurns(messages)
  const calls = [...turns.values()].flat()
  const last = messages.findLastIndex((message) => !isResult(message))
  const open = turns.get(last)?.find(isOpen)
  if (open !== undefined) {
    const message = 'This tool call has no result. Add a message with its result after it.'
    throw new GatewayError('invalid_value', message, { param: open.param })
  }
  return calls.some((call) => isOpen(call) || call.isMoved) ? settle(messages, turns) : undefined
}

/** The tool calls of each message, with their results. */
function readTurns(messages: readonly Message[]): Map<number, Call[]> {
  const turns = new Map<number, Call[]>()
  /** The last call by the id or function name that a result refers to. */
  const named = new Map<string, Call>()
  let last = -1
  for (const [at, message] of messages.entries()) {
    if (isResult(message)) {
      const call = callOf(message, at, named)
      call.result = at
      call.isMoved = call.at !== last
      continue
    }
    last = at
    const calls = callsIn(message, at)
    if (calls.length > 0) turns.set(at, calls)
    for (const call of calls) named.set(nameOf(call.answer('')), call)
  }
  return turns
}

function callsIn(message: Message, at: number): Call[] {
  if (message.role !== 'assistant') return []
  const path = `messages[${at}]`
  const calls = (message.tool_calls ?? []).map(({ id }, place): Call => {
    const answer = (content: string): Result => ({ role: 'tool', tool_call_id: id, content })
    return { at, param: `${path}.tool_calls[${place}]`, answer }
  })
  if (!message.function_call) return calls
  const { name } = message.function_call
  const answer = (content: string): Result => ({ role: 'function', name, content })
  return [...calls, { at, param: `${path}.function_call`, answer }]
}

/** The unanswered call that a result belongs to. Throws a GatewayError when it is missing. */
function callOf(message: Result, at: number, named: ReadonlyMap<string, Call>): Call {
  const call = named.get(nameOf(message))
  if (call !== undefined && isOpen(call)) return call
  const isTool = message.role === 'tool'
  const name = (isTool ? message.tool_call_id : message.name).slice(0, shownCharactersMax)
  const what = isTool ? `tool call with the id '${name}'` : `function_call of '${name}'`
  const words = call
    ? `messages[${call.result}] already has the result of the ${what}.`
    : `No assistant message before it has a ${what}.`
  const param = `messages[${at}].${isTool ? 'tool_call_id' : 'name'}`
  throw new GatewayError('invalid_value', words, { param })
}

function settle(messages: readonly Message[], turns: ReadonlyMap<number, Call[]>) {
  const settled: Message[] = []
  const places: number[] = []
  const warnings: Warning[] = []
  const put = (message: Message, place: number) => {
    settled.push(message)
    places.push(place)
  }
  for (const [at, message] of messages.entries()) {
    if (isResult(message)) continue
    put(message, at)
    for (const { param, answer, result, isMoved } of turns.get(at) ?? []) {
      if (result === undefined) {
        const reason = `This call has no result, so the model receives '${noResult}'`
        warnings.push({ param, requested: null, applied: noResult, reason })
        put(answer(noResult), at)
        continue
      }
      if (isMoved === true) {
        const reason = 'A result must directly follow the message with its call, so it was moved.'
        const applied = settled.length
        warnings.push({ param: `messages[${result}]`, requested: result, applied, reason })
      }
      put(messages[result]!, result)
    }
  }
  const sentAt = (_: string, at: string) => `messages[${places[Number(at)]}]`
  /** Maps message indexes in warnings and problems back to indexes of the request's messages. */
  const asSent = <Note extends Problem | Warning>(notes: readonly Note[]): readonly Note[] =>
    notes.map((note) => ({ ...note, param: note.param.replace(/^messages\[(\d+)\]/, sentAt) }))
  return { messages: settled, warnings, asSent }
}

function isOpen({ result }: Call): boolean {
  return result === undefined
}

function nameOf(message: Result): string {
  return `${message.role} ${message.role === 'tool' ? message.tool_call_id : message.name}`
}

function hasCalls(message: Message): boolean {
  if (message.role !== 'assistant') return false
  return Boolean(message.tool_calls?.length) || Boolean(message.function_call)
}

function isResult(message: Message): message is Result {
  return message.role === 'tool' || message.role === 'function'
}
