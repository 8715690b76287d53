import type { ChatCompletion, ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../wire/any-json.ts'
import { finishReasonOf } from './finish-reason.ts'
import { completeIdentity } from './identity.ts'
import { isIndex, readMembers } from './members.ts'
import { repairCalls } from './repair-calls.ts'
import { withPlainThoughts } from './thoughts.ts'

/**
 * A vendor's answer as one of OpenAI's, which has members that others leave out. `fallback` is what it is
 * called when its vendor does not say. Throws a ProviderFailure when it is no answer.
 */
export function repairAnswer(
  answer: Members,
  fallback: Omit<ChunkIdentity, 'id'>,
  finishReasons?: Readonly<Record<string, string>>,
): ChatCompletion {
  // The gateway adds its own `usage` and `warnings` to an answer.
  const { usage: _usage, warnings: _warnings, choices, ...rest } = answer
  const { id, created, model } = completeIdentity(answer, fallback)
  const listed = Array.isArray(choices) ? choices : []
  const repaired = listed.map((choice, place) =>
    repairChoice(readMembers(choice), place, finishReasons),
  )
  // Checked member by member above; the vendor's further members are passed on.
  return {
    ...rest,
    id,
    object: 'chat.completion',
    created,
    model,
    choices: repaired,
  } as ChatCompletion
}

function repairChoice(
  { index, message: said, logprobs = null, finish_reason: reason, ...others }: Members,
  place: number,
  finishReasons: Readonly<Record<string, string>> | undefined,
): Members {
  const { tool_calls: given, role: _role, ...texts } = withPlainThoughts(readMembers(said))
  const { content = null, refusal = null, ...rest } = texts
  const calls = repairCalls(given)
  return {
    index: isIndex(index) ? index : place,
    message: {
      role: 'assistant',
      content,
      refusal,
      ...rest,
      ...(calls === undefined ? {} : { tool_calls: calls }),
    },
    logprobs,
    finish_reason: finishReasonOf(reason, calls !== undefined, finishReasons),
    ...others,
  }
}
