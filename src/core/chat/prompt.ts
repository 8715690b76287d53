import type { ChatRequest } from './chat.ts'

/** The prompt of a conversation: the text of the user's last message, '' without one. */
export function lastUserText({ messages }: Pick<ChatRequest, 'messages'>): string {
  const last = messages.findLast(({ role }) => role === 'user')
  const { content = '' } = last ?? {}
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => ('text' in part ? part.text : [])).join('\n')
}
