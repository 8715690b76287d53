import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { callIdFor, type CallIds } from '../wire/call-id.ts'
import type { Message } from '../wire/parts.ts'
import { answerFields, type AnswerField, type ChatDialect } from './dialect.ts'

type Answer = Extract<Message, { role: 'assistant' }> & Partial<Record<AnswerField, unknown>>
type ToolCall = components['schemas']['ToolCall']
const anyIds: CallIds = { pattern: /^/, length: 0 }

/**
 * A conversation whose answers hold only what the vendor accepts back: many vendors refuse unknown
 * members, such as another vendor's reasoning, or call ids of another format.
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

/** Removes the `cache_control` marks of the parts, which do not change the answer. */
function withoutMarks<Given extends Message>(message: Given): Given {
  const { content } = message
  if (!Array.isArray(content)) return message
  return { ...message, content: content.map(withoutMark) }
}

/** The same object without its `cache_control` mark. */
export function withoutMark<Marked extends object>(marked: Marked): Marked {
  if (!('cache_control' in marked)) return marked
  const { cache_control: _mark, ...rest } = marked
  // Only `cache_control` is left out, and it is optional.
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
  // Another vendor's call has no reasoning, and an empty text is refused as if it were missing.
  if (wantsReasoning) answer.reasoning_content ||= ' '
  return answer
}

/** Whether an answer has no content at all: vendors refuse such a message. */
function isSilent({ content, refusal, tool_calls: calls, ...rest }: Answer): boolean {
  return !content?.length && !refusal && !calls?.length && !('audio' in rest)
}

/** The content with a refusal as text, for vendors that do not take `refusal`. */
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
