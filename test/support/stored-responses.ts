import type OpenAI from 'openai'
import { completion } from './chat-answers.ts'
import type { OwnEndpoint } from './own-endpoint.ts'

/** A response, and the members that OpenAI's client does not know. */
export type Stored = OpenAI.Responses.Response & {
  store: boolean
  warnings?: { param: string; reason: string }[]
}

/** The upstream numbers its answers. */
export function answerWith({ upstream }: OwnEndpoint): void {
  upstream.requests.length = 0
  upstream.answer(() => completion(`Answer ${upstream.requests.length}.`))
}

/** The messages of each request to the upstream. */
export function conversations({ upstream }: OwnEndpoint): string[][] {
  return upstream.requests.map(({ body }) => {
    const { messages } = body as { messages: { role: string; content: string | object[] }[] }
    return messages.map(({ role, content }) => `${role}: ${saidIn(content)}`)
  })
}

/** The text of a message. */
export function saidIn(content: string | object[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part as { text?: string }).text ?? '').join('')
}

/** An item that stands for a stored one. */
export const reference = (id: string) => ({ type: 'item_reference' as const, id })
