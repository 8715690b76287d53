import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../wire/any-json.ts'
import { choiceContent, messageContent, withoutNulls } from './content.ts'
import { finishReasonOf } from './finish-reason.ts'
import { isAbsent, malformed, readMembers } from './members.ts'
import { createCallRepair } from './repair-calls.ts'
import { withPlainThoughts } from './thoughts.ts'

/** Makes what the chunks of a stream say of one choice what OpenAI's would. */
export type ChoiceRepair = {
  /** The same one when nothing changes, undefined after its end. Throws a ProviderFailure. */
  read(choice: Members): Members | undefined
  /** Whether one that differs in its texts alone would become what became of the last one. */
  isSteady(): boolean
  /** Whether the vendor has said why it ended. */
  hasFinished(): boolean
  /** The end, when the vendor did not tell it. */
  end(): Members
}

type FinishReasons = Readonly<Record<string, string>>

export function createChoiceRepair(
  index: number,
  texts: VendorTexts,
  finishReasons?: FinishReasons,
): ChoiceRepair {
  const calls = createCallRepair(texts)
  let begun = false
  let finished = false
  let steady = false

  const readDelta = (given: Members): Members => {
    const plain = texts.members(withoutNulls(withPlainThoughts(given)), messageContent)
    const delta = withRole(plain, begun)
    const { tool_calls: told, ...rest } = delta
    if (told === undefined) return delta
    if (told !== null && !Array.isArray(told)) malformed()
    const before = calls.begun()
    const pieces = calls.read(told ?? [])
    if (calls.begun() > before) steady = false
    if (pieces.length === 0) return rest
    return pieces === told ? delta : { ...rest, tool_calls: pieces }
  }
  const reasonFor = (told: unknown) => finishReasonOf(told, calls.begun() > 0, finishReasons)

  return {
    read: (choice) => {
      // The first end counts: clients would join a second one to it.
      if (finished) return undefined
      const clean = texts.members(choice, choiceContent)
      const { index: _index, delta: said, message, finish_reason: told, ...others } = clean
      steady = begun
      let delta = readDelta(isAbsent(said ?? message) ? {} : readMembers(said ?? message))
      begun = true
      let reason: string | null = null
      if (!isAbsent(told) && told !== '') {
        steady = false
        reason = reasonFor(told)
        delta = withCalls(delta, calls.rest())
        finished = true
      }
      const same =
        clean === choice && choice['index'] === index && delta === said && reason === told
      return same ? choice : { index, delta, ...others, finish_reason: reason }
    },
    isSteady: () => steady,
    hasFinished: () => finished,
    end: () => ({ index, delta: withCalls({}, calls.rest()), finish_reason: reasonFor('stop') }),
  }
}

/** OpenAI's first delta of a choice has the role, alone; vendors leave it out, or repeat it. */
function withRole(delta: Members, begun: boolean): Members {
  const { role, ...rest } = delta
  if (begun ? role === undefined : role === 'assistant') return delta
  return begun ? rest : { role: 'assistant', ...rest }
}

function withCalls(delta: Members, more: readonly Members[]): Members {
  if (more.length === 0) return delta
  const { tool_calls: calls = [], ...rest } = delta
  // A list by now, or none.
  return { ...rest, tool_calls: [...(calls as unknown[]), ...more] }
}
