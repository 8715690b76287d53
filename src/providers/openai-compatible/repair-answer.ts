import type { ChatCompletion } from '../../core/chat/chat.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../wire/any-json.ts'
import {
  finishReasonOf,
  besideChoices,
  choiceContent,
  messageContent,
  withoutNulls,
  completeIdentity,
  type Naming,
  isChoiceIndex,
  readChoices,
  readMembers,
  withPlainThoughts,
} from './members.ts'
import { repairCalls } from './repair-calls.ts'

/**
 * A vendor's answer as one of OpenAI's, which has members that others leave out. Throws a ProviderFailure
 * when it is no answer.
 */
export function repairAnswer(
  answer: Members,
  naming: Naming,
  finishReasons?: Readonly<Record<string, string>>,
): ChatCompletion {
  const { texts } = naming
  // The gateway adds its own `usage` and `warnings` to an answer.
  const { usage: _usage, warnings: _warnings, choices, ...rest } = answer
  const { id, created, model } = completeIdentity(answer, naming)
  const repaired = readChoices(choices).map((choice, place) =>
    repairChoice(readMembers(choice), { place, texts, finishReasons }),
  )
  // Checked member by member above; the vendor's further members are passed on.
  return {
    ...besideChoices(rest, texts),
    id,
    object: 'chat.completion',
    created,
    model,
    choices: repaired,
  } as ChatCompletion
}

type Repair = {
  place: number
  texts: VendorTexts
  finishReasons: Readonly<Record<string, string>> | undefined
}

function repairChoice(
  { index, message: said, logprobs = null, finish_reason: reason, ...others }: Members,
  { place, texts, finishReasons }: Repair,
): Members {
  const {
    tool_calls: given,
    role: _role,
    ...words
  } = withoutNulls(withPlainThoughts(readMembers(said)))
  const { content = null, refusal = null, ...rest } = words
  const calls = repairCalls(given, texts)
  return {
    index: isChoiceIndex(index) ? index : place,
    message: {
      role: 'assistant',
      content,
      refusal,
      ...texts.members(rest, messageContent),
      ...(calls === undefined ? {} : { tool_calls: calls }),
    },
    logprobs,
    finish_reason: finishReasonOf(reason, calls !== undefined, finishReasons),
    ...texts.members(others, choiceContent),
  }
}
