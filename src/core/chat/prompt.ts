import type { ChatRequest } from './chat.ts'

/** The text of the user's last message, '' without one. */
export function lastUserText({ messages }: Pick<ChatRequest, 'messages'>): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last === undefined ? '' : messageText(last)
}

/** The text of a message, a line for each part. */
export function messageText({ content }: ChatRequest['messages'][number]): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
}
