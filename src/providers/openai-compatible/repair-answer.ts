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
 * Converts a vendor's answer to OpenAI's form, adding members that vendors omit. Throws a
 * ProviderFailure if it is not an answer.
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
  // All members were checked above; unknown members of the vendor are cleaned and kept.
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
  { index, message: given, logprobs = null, finish_reason: reason, ...others }: Members,
  { place, texts, finishReasons }: Repair,
): Members {
  const {
    tool_calls: calls,
    role: _role,
    ...words
  } = withoutNulls(withPlainThoughts(readMembers(given)))
  const { content = null, refusal = null, ...rest } = words
  const repaired = repairCalls(calls, texts)
  return {
    index: isChoiceIndex(index) ? index : place,
    message: {
      role: 'assistant',
      content,
      refusal,
      ...texts.members(rest, messageContent),
      ...(repaired === undefined ? {} : { tool_calls: repaired }),
    },
    logprobs,
    finish_reason: finishReasonOf(reason, repaired !== undefined, finishReasons),
    ...texts.members(others, choiceContent),
  }
}
