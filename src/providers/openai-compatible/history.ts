import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat.ts'
import { partsOf, type Message } from '../chat-parts.ts'
import { answerFields, type AnswerField, type ChatDialect } from './dialect.ts'

type Answer = Extract<Message, { role: 'assistant' }> & Partial<Record<AnswerField, unknown>>
type ToolCall = components['schemas']['ToolCall']

/**
 * A conversation with the answers in it as the vendor takes them back: many refuse a field that they do
 * not know, such as what another vendor's model thought. The same messages where all are taken.
 */
export function writeHistory(
  messages: ChatRequest['messages'],
  { takesBack, wantsReasoning }: ChatDialect,
): ChatRequest['messages'] {
  if (takesBack === undefined) return messages
  const isForeign = (message: Message) =>
    message.role === 'assistant' && (hasForeign(message, takesBack) || wantsReasoning)
  if (!messages.some(isForeign)) return messages
  return messages.map((message, index) => {
    if (message.role !== 'assistant') return message
    const answer = writeAnswer(message, `messages[${index}]`, takesBack)
    // A call of another vendor's model has no reasoning; an empty one counts as none.
    if (!wantsReasoning || !answer.tool_calls?.length || answer.reasoning_content) return answer
    return { ...answer, reasoning_content: ' ' }
  })
}

function hasForeign(message: Answer, takesBack: readonly AnswerField[]): boolean {
  return (
    answerFields.some((field) => message[field] !== undefined && !takesBack.includes(field)) ||
    hasRefusalPart(message) ||
    (message.tool_calls ?? []).some(hasExtras)
  )
}

function hasRefusalPart({ content }: Answer): boolean {
  return Array.isArray(content) && content.some(({ type }) => type === 'refusal')
}

function writeAnswer(message: Answer, path: string, takesBack: readonly AnswerField[]): Answer {
  const answer = { ...message }
  if (!takesBack.includes('refusal')) answer.content = contentOf(message, path)
  for (const field of answerFields) if (!takesBack.includes(field)) delete answer[field]
  if (message.tool_calls) answer.tool_calls = message.tool_calls.map(withoutExtras)
  return answer
}

/** A refusal is the model's words. */
function contentOf(message: Answer, path: string): Answer['content'] {
  const { content, refusal } = message
  if (!hasRefusalPart(message)) return content || refusal || content
  return partsOf(message, path).map(({ part }) => part)
}

function hasExtras({ extra_content: extra, function: called }: ToolCall): boolean {
  return extra !== undefined || 'parsed_arguments' in called
}

function withoutExtras({ extra_content: _extra, ...call }: ToolCall): ToolCall {
  const { name, arguments: text } = call.function
  return { ...call, function: { name, arguments: text } }
}
