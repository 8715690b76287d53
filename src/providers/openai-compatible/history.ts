import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { callIdFor, type CallIds } from '../wire/call-id.ts'
import type { Message } from '../wire/parts.ts'
import { answerFields, type AnswerField, type ChatDialect } from './dialect.ts'

type Answer = Extract<Message, { role: 'assistant' }> & Partial<Record<AnswerField, unknown>>
type ToolCall = components['schemas']['ToolCall']
const anyIds: CallIds = { pattern: /^/, length: 0 }

/**
 * A conversation with the answers in it as the vendor takes them back: many refuse what they do not
 * know, such as what another vendor's model thought, or its form of ids.
 */
export function writeHistory(
  messages: ChatRequest['messages'],
  dialect: ChatDialect,
): ChatRequest['messages'] {
  const { takesBack, callIds = anyIds } = dialect
  if (takesBack === undefined) return messages
  return messages.flatMap((given) => {
    const message = dialect.takesCacheControl ? given : withoutMarks(given)
    if (message.role === 'assistant') {
      return isSilent(message) ? [] : writeAnswer(message, dialect, takesBack)
    }
    if (message.role !== 'tool') return message
    return { ...message, tool_call_id: callIdFor(callIds, message.tool_call_id) }
  })
}

/** Marks for a cache of prompts: without them an answer is the same. */
function withoutMarks<Given extends Message>(message: Given): Given {
  const { content } = message
  if (!Array.isArray(content)) return message
  return { ...message, content: content.map(withoutMark) }
}

/** The same without its mark for a cache of prompts. */
export function withoutMark<Marked extends object>(marked: Marked): Marked {
  if (!('cache_control' in marked)) return marked
  const { cache_control: _mark, ...rest } = marked
  // Nothing else is left out, and it may be absent.
  return rest as unknown as Marked
}

function writeAnswer(
  message: Answer,
  { callIds = anyIds, wantsReasoning }: ChatDialect,
  takesBack: readonly AnswerField[],
): Answer {
  const answer = { ...message }
  if (!takesBack.includes('refusal')) answer.content = wordsOf(message)
  for (const field of answerFields) if (!takesBack.includes(field)) delete answer[field]
  if (!message.tool_calls?.length) return answer
  answer.tool_calls = message.tool_calls.map((call) => writeCall(call, callIds))
  // A call of another vendor's model has no reasoning; an empty one counts as none.
  if (wantsReasoning) answer.reasoning_content ||= ' '
  return answer
}

/** An answer without a word or a call is refused, and tells nothing. */
function isSilent({ content, refusal, tool_calls: calls, ...rest }: Answer): boolean {
  return !content?.length && !refusal && !calls?.length && !('audio' in rest)
}

/** A refusal is the model's words. */
function wordsOf({ content, refusal }: Answer): Answer['content'] {
  if (!Array.isArray(content)) return content || refusal || content
  return content.map((part) =>
    part.type === 'refusal' ? { type: 'text', text: part.refusal } : part,
  )
}

function writeCall({ extra_content: _extra, ...call }: ToolCall, callIds: CallIds): ToolCall {
  const { name, arguments: text } = call.function
  return { ...call, id: callIdFor(callIds, call.id), function: { name, arguments: text } }
}
