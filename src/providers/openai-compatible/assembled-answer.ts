import type { PieceReader } from '../transport/upstream.ts'
import { endOfEvent, fieldsOf } from '../wire/event-source.ts'
import type { StreamReader } from '../wire/forwarded-stream.ts'
import { parseEvent } from '../wire/translated-stream.ts'
import { itemsOf, type Members } from '../wire/any-json.ts'
import { isAbsent, readMembers } from './members.ts'

/** Members of a message whose text arrives in pieces. */
const texts: ReadonlySet<string> = new Set(['content', 'reasoning_content', 'refusal'])
const lists: ReadonlySet<string> = new Set(['images', 'annotations'])

/** The received members of a choice. */
type Choice = { members: Members; message: Members; calls: Map<unknown, Call> }
type Call = { members: Members; functionMembers: Members; args: string }

/**
 * Assembles the answer of an upstream that streams without being asked to; `lane` reads its events.
 * The cost is linear in the length of the answer. Throws a ProviderFailure when the stream breaks
 * off or reports an error.
 */
export function assembledAnswer(lane: StreamReader): PieceReader<Members> {
  const choices = new Map<unknown, Choice>()
  const answer: Members = {}
  const read = (events: Buffer | undefined) => {
    const failure = lane.failure()
    if (failure !== undefined) throw failure
    if (events === undefined) return
    for (let start = 0; start < events.length;) {
      const end = endOfEvent(events, start)
      const { data } = fieldsOf(events.subarray(start, end))
      const chunk = parseEvent<Members & { choices: Members[] }>(data)
      for (const choice of chunk.choices) add(choices, choice)
      Object.assign(answer, chunk)
      start = end
    }
  }
  return {
    push: (piece) => read(lane.push(piece)),
    finish: () => {
      read(lane.end())
      return { ...answer, choices: Array.from(choices.values(), whole) }
    },
  }
}

function add(choices: Map<unknown, Choice>, { delta, ...choice }: Members): void {
  const { index, finish_reason: reason, logprobs } = choice
  const kept = choices.get(index) ?? { members: {}, message: {}, calls: new Map<unknown, Call>() }
  choices.set(index, kept)
  const { members } = kept
  const before = { finish_reason: members['finish_reason'] ?? null, logprobs: members['logprobs'] }
  Object.assign(members, choice, {
    finish_reason: reason ?? before.finish_reason,
    logprobs: joinedLogprobs(before.logprobs, logprobs),
  })
  merge(kept, readMembers(delta))
}

function merge({ message, calls }: Choice, { tool_calls: pieces, ...delta }: Members): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = message[name]
    // String concatenation is cheap; joining a list would copy the whole text for each piece.
    if (texts.has(name) && typeof before === 'string') message[name] = before + textOf(value)
    else if (lists.has(name) && Array.isArray(before)) pushAll(before, itemsOf(value))
    else if (lists.has(name) && Array.isArray(value)) message[name] = Array.from<unknown>(value)
    else message[name] = value
  }
  for (const given of itemsOf(pieces)) {
    const { index, function: called, ...piece } = readMembers(given)
    const call = calls.get(index) ?? { members: { index }, functionMembers: {}, args: '' }
    calls.set(index, call)
    const { arguments: args, ...more } = readMembers(called ?? {})
    Object.assign(call.members, piece)
    Object.assign(call.functionMembers, more)
    call.args += textOf(args)
  }
}

function whole({ members, message, calls }: Choice): Members {
  const called = Array.from(calls.values(), ({ members: call, functionMembers, args }) => {
    return { ...call, function: { ...functionMembers, arguments: args } }
  })
  return { ...members, message: called.length === 0 ? message : { ...message, tool_calls: called } }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Joins log probabilities, which arrive token by token. */
function joinedLogprobs(earlier: unknown, later: unknown): unknown {
  if (isAbsent(earlier) || isAbsent(later)) return earlier ?? later ?? null
  const [before, after] = [readMembers(earlier), readMembers(later)]
  const all = (name: string) => {
    const list = Array.isArray(before[name]) ? (before[name] as unknown[]) : []
    pushAll(list, itemsOf(after[name]))
    return list
  }
  return { ...after, content: all('content'), refusal: all('refusal') }
}

/** Pushes items one by one, since spreading a long list would overflow the stack. */
function pushAll(list: unknown[], more: readonly unknown[]): void {
  for (const item of more) list.push(item)
}
