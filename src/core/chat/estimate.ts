import type { Usage } from '../price.ts'
import type { ChatRequest } from './chat.ts'

/** A common rule of thumb: a token is about four characters of text. */
const charactersPerToken = 4

/** Estimated token counts of texts that no vendor has counted. */
export function estimateTokens(input: string, output: string): Usage {
  const tokens = (text: string) => Math.ceil(text.length / charactersPerToken)
  return { inputTokens: tokens(input), outputTokens: tokens(output), images: 0, estimated: true }
}

/** The same for a stream, from the events that were delivered. */
export function estimateStream(request: ChatRequest, events: Buffer): Usage {
  return estimateTokens(conversationText(request), deltaText(events))
}

/** All text of a conversation. */
export function conversationText({ messages }: ChatRequest): string {
  return messages
    .map(({ content }) => {
      if (typeof content === 'string') return content
      return (content ?? []).map((part) => ('text' in part ? part.text : '')).join(' ')
    })
    .join('\n')
}

function deltaText(events: Buffer): string {
  const lines = events.toString().split('\n')
  return lines
    .filter((line) => line.startsWith('data:'))
    .flatMap((line) => parseChunk(line.slice(5))?.choices ?? [])
    .map((choice) => spokenText(choice?.delta))
    .join('')
}

/** All text that a model wrote, with reasoning and tool calls, since all of it is billed. */
export function spokenText(said: Said | undefined): string {
  const calls = (said?.tool_calls ?? []).map((call) => [
    call?.function?.name,
    call?.function?.arguments,
    call?.custom?.input,
  ])
  return [said?.content, said?.reasoning_content, ...calls.flat()].join('')
}

type SaidCall = {
  function?: { name?: string; arguments?: string }
  custom?: { name?: string; input?: string }
}
type Said = {
  content?: string | null
  reasoning_content?: string | null
  tool_calls?: (SaidCall | null)[] | null
}
type Chunk = { choices?: ({ delta?: Said } | null)[] }

function parseChunk(text: string): Chunk | undefined {
  try {
    // The events of a stream are `chat.completion.chunk` objects; here every member is optional.
    return JSON.parse(text) as Chunk
  } catch {
    return undefined
  }
}
