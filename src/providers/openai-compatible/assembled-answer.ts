import { isMembers, itemsOf, textIn, type Members } from '../../core/any-json.ts'
import { endOfEvent, fieldsOf } from '../wire/event-source.ts'
import type { StreamReader } from '../wire/forwarded-stream.ts'
import { parseEvent } from '../wire/translated-stream.ts'
import { isAbsent, readMembers } from './members.ts'

/**
 * The answer of an upstream that streams without being asked to; `lane` reads its events. The cost is
 * linear in the length of the answer. Throws a ProviderFailure when the stream breaks off or reports
 * an error.
 */
export function assembledAnswer(bytes: Buffer, lane: StreamReader): Members {
  const choices = new Map<unknown, Members>()
  const answer: Members = {}
  const read = (events: Buffer | undefined) => {
    const failure = lane.failure()
    if (failure !== undefined) throw failure
    if (events === undefined) return
    for (let start = 0; start < events.length;) {
      const end = endOfEvent(events, start)
      const { data } = fieldsOf(events.subarray(start, end))
      const chunk = parseEvent<Members & { choices: Members[] }>(data)
      for (const { delta: message, ...choice } of chunk.choices) {
        const whole = choices.get(choice['index']) ?? {}
        choices.set(choice['index'], whole)
        grow(whole, { ...choice, message: readMembers(message) })
      }
      Object.assign(answer, chunk)
      start = end
    }
  }
  read(lane.push(bytes))
  read(lane.end())
  return { ...answer, choices: [...choices.values()] }
}

/** Members whose text arrives in pieces. */
const texts: ReadonlySet<string> = new Set(['content', 'reasoning_content', 'refusal', 'arguments'])

/** Adds a piece to what has arrived: texts and lists grow, objects are merged, other values replace earlier ones. */
function grow(whole: Members, piece: Members): void {
  for (const [name, value] of Object.entries(piece)) {
    const before = whole[name]
    if (isAbsent(before)) whole[name] = name === 'tool_calls' ? growCalls([], value) : value
    else if (isAbsent(value)) continue
    else if (name === 'tool_calls') growCalls(before as Members[], value)
    // String concatenation is cheap; joining a list would copy the whole text for each piece.
    else if (texts.has(name) && typeof before === 'string')
      whole[name] = before + (textIn(value) ?? '')
    // One by one, since spreading a long list would overflow the stack.
    else if (Array.isArray(before)) for (const item of itemsOf(value)) before.push(item)
    else if (isMembers(before) && isMembers(value)) grow(before, value)
    else whole[name] = value
  }
}

/** The repaired pieces of calls have indexes without gaps. */
function growCalls(calls: Members[], pieces: unknown): Members[] {
  for (const piece of itemsOf(pieces).map(readMembers)) {
    const place = Number(piece['index'])
    grow((calls[place] ??= {}), piece)
  }
  return calls
}
