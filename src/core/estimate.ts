import type { ChatRequest } from './chat.ts'
import type { Usage } from './price.ts'

/** A common rule of thumb: a token is about four characters of text. */
const charactersPerToken = 4

/** Token counts of texts that no vendor has counted, marked as estimated. */
export function estimateTokens(input: string, output: string): Usage {
  const tokens = (text: string) => Math.ceil(text.length / charactersPerToken)
  return { inputTokens: tokens(input), outputTokens: tokens(output), images: 0, estimated: true }
}

/** The same for a stream, from the events that were delivered. */
export function estimateStream(request: ChatRequest, events: readonly Buffer[]): Usage {
  return estimateTokens(conversationText(request), deltaText(events))
}

/** The words of a conversation. */
export function conversationText({ messages }: ChatRequest): string {
  return messages
    .map(({ content }) => {
      if (typeof content === 'string') return content
      return (content ?? []).map((part) => ('text' in part ? part.text : '')).join(' ')
    })
    .join('\n')
}

function deltaText(events: readonly Buffer[]): string {
  const lines = Buffer.concat(events).toString().split('\n')
  return lines
    .filter((line) => line.startsWith('data: {'))
    .map((line) => {
      const chunk = parseChunk(line.slice(6))
      const delta = chunk?.choices?.[0]?.delta
      return `${delta?.content ?? ''}${delta?.reasoning_content ?? ''}`
    })
    .join('')
}

type Chunk = {
  choices?: { delta?: { content?: string | null; reasoning_content?: string | null } }[]
}

function parseChunk(text: string): Chunk | undefined {
  try {
    return JSON.parse(text) as Chunk
  } catch {
    return undefined
  }
}
