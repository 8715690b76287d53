import type { PieceReader } from '../transport/upstream.ts'
import { endOfEvent, fieldsOf } from '../wire/event-source.ts'
import type { StreamReader } from '../wire/forwarded-stream.ts'
import { parseEvent } from '../wire/translated-stream.ts'
import { itemsOf, type Members } from '../wire/any-json.ts'
import { isAbsent, readMembers } from './members.ts'

/** Texts that come in pieces, and lists that grow. */
const texts: ReadonlySet<string> = new Set(['content', 'reasoning_content', 'refusal'])
const lists: ReadonlySet<string> = new Set(['images', 'annotations'])

/** What was told so far of a choice, and of a call of it. */
type Choice = { told: Members; message: Members; calls: Map<unknown, Call> }
type Call = { told: Members; said: Members; args: string }

/**
 * Reads the whole answer of an upstream that streams though nobody asked for it; `lane` reads its events. The
 * answer is put together as it arrives, at a cost of its length alone. Throws a ProviderFailure when it breaks
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
  const known = choices.get(index) ?? { told: {}, message: {}, calls: new Map<unknown, Call>() }
  choices.set(index, known)
  const { told } = known
  const before = { finish_reason: told['finish_reason'] ?? null, logprobs: told['logprobs'] }
  Object.assign(told, choice, {
    finish_reason: reason ?? before.finish_reason,
    logprobs: joinedLogprobs(before.logprobs, logprobs),
  })
  merge(known, readMembers(delta))
}

function merge({ message, calls }: Choice, { tool_calls: pieces, ...delta }: Members): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = message[name]
    // Added and not joined: that would copy all that was said, for each piece.
    if (texts.has(name) && typeof before === 'string') message[name] = before + textOf(value)
    else if (lists.has(name) && Array.isArray(before)) pushAll(before, itemsOf(value))
    else if (lists.has(name) && Array.isArray(value)) message[name] = Array.from<unknown>(value)
    else message[name] = value
  }
  for (const given of itemsOf(pieces)) {
    const { index, function: said, ...piece } = readMembers(given)
    const call = calls.get(index) ?? { told: { index }, said: {}, args: '' }
    calls.set(index, call)
    const { arguments: args, ...more } = readMembers(said ?? {})
    Object.assign(call.told, piece)
    Object.assign(call.said, more)
    call.args += textOf(args)
  }
}

function whole({ told, message, calls }: Choice): Members {
  const called = Array.from(calls.values(), ({ told: call, said, args }) => {
    return { ...call, function: { ...said, arguments: args } }
  })
  return { ...told, message: called.length === 0 ? message : { ...message, tool_calls: called } }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Probabilities are told token by token. */
function joinedLogprobs(known: unknown, more: unknown): unknown {
  if (isAbsent(known) || isAbsent(more)) return known ?? more ?? null
  const [before, behind] = [readMembers(known), readMembers(more)]
  const all = (name: string) => {
    const list = Array.isArray(before[name]) ? (before[name] as unknown[]) : []
    pushAll(list, itemsOf(behind[name]))
    return list
  }
  return { ...behind, content: all('content'), refusal: all('refusal') }
}

/** One by one: what is spread has to fit the stack. */
function pushAll(list: unknown[], more: readonly unknown[]): void {
  for (const item of more) list.push(item)
}
