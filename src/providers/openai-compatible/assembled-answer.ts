import { joinPieces } from '../../bytes/pieces.ts'
import { endOfEvent, fieldsOf } from '../wire/event-source.ts'
import type { StreamReader } from '../wire/forwarded-stream.ts'
import { parseEvent } from '../wire/translated-stream.ts'
import type { Members } from '../wire/any-json.ts'
import { isAbsent, readMembers } from './members.ts'

/** Texts that come in pieces, and lists that grow. */
const texts = ['content', 'reasoning_content', 'refusal']
const lists = ['images', 'annotations']

/**
 * The whole answer of an upstream that streams though nobody asked for it; `lane` reads its events. Throws a
 * ProviderFailure when it breaks off or reports an error.
 */
export function assembledAnswer(bytes: Buffer, lane: StreamReader): Members {
  const pieces = [lane.push(bytes), lane.end()].filter((piece) => piece !== undefined)
  const failure = lane.failure()
  if (failure !== undefined) throw failure
  const events = joinPieces(pieces)
  const choices = new Map<unknown, Members>()
  let answer: Members = {}
  for (let start = 0; start < events.length;) {
    const end = endOfEvent(events, start)
    const chunk = parseEvent<Members & { choices: Members[] }>(
      fieldsOf(events.subarray(start, end)).data,
    )
    for (const choice of chunk.choices) add(choices, choice)
    answer = { ...answer, ...chunk }
    start = end
  }
  return { ...answer, choices: [...choices.values()] }
}

function add(choices: Map<unknown, Members>, { delta, ...choice }: Members): void {
  const known = choices.get(choice['index'])
  const { finish_reason: reason, logprobs } = choice
  const message = merged(readMembers(known?.['message'] ?? {}), readMembers(delta))
  choices.set(choice['index'], {
    ...known,
    ...choice,
    message,
    finish_reason: reason ?? known?.['finish_reason'] ?? null,
    logprobs: joinedLogprobs(known?.['logprobs'], logprobs),
  })
}

function merged(message: Members, { tool_calls: pieces, ...delta }: Members): Members {
  const whole: Members = { ...message, ...delta }
  for (const name of texts) {
    const parts = [message[name], delta[name]].filter((part) => typeof part === 'string')
    if (parts.length > 0) whole[name] = parts.join('')
  }
  for (const name of lists) {
    const parts = [message[name], delta[name]].filter((part) => Array.isArray(part))
    if (parts.length > 0) whole[name] = parts.flat()
  }
  if (!Array.isArray(pieces)) return whole
  const calls = [...((message['tool_calls'] ?? []) as Members[])]
  for (const given of pieces) {
    const { index, function: said = {}, ...piece } = readMembers(given)
    const at = calls.findIndex((call) => call['index'] === index)
    const call = calls[at] ?? { index }
    const before = readMembers(call['function'] ?? {})
    const spoken = { ...before, ...readMembers(said) }
    spoken['arguments'] = [before['arguments'], readMembers(said)['arguments']].join('')
    calls[at < 0 ? calls.length : at] = { ...call, ...piece, function: spoken }
  }
  return { ...whole, tool_calls: calls }
}

/** Probabilities are told token by token. */
function joinedLogprobs(known: unknown, more: unknown): unknown {
  if (isAbsent(known) || isAbsent(more)) return known ?? more ?? null
  const [before, behind] = [readMembers(known), readMembers(more)]
  const all = (name: string) => [before[name] ?? [], behind[name] ?? []].flat()
  return { ...behind, content: all('content'), refusal: all('refusal') }
}
