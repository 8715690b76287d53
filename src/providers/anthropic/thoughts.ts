import type {
  ContentBlock,
  RedactedThinkingBlockParam,
  ThinkingBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { components } from '../../../generated/types.ts'

type ToolCall = components['schemas']['FunctionToolCall']
/** A signed thinking block; the one before a tool call must be sent back unchanged. */
export type Thought = ThinkingBlockParam | RedactedThinkingBlockParam

/** The thinking block in a block of an answer; undefined for other blocks. */
export function thoughtIn(block: ContentBlock): Thought | undefined {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking, signature: block.signature }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data }
    default:
      return undefined
  }
}

/** Attaches thinking blocks to a call, so that the client sends them back with its result. */
export function withThoughts<Call extends object>(call: Call, thoughts: readonly Thought[]) {
  if (thoughts.length === 0) return call
  return { ...call, extra_content: { anthropic: { thinking_blocks: thoughts } } }
}

export const thoughtsPath = 'extra_content.anthropic.thinking_blocks'

/** The thinking blocks that came back with a call; undefined when they are malformed. */
export function thoughtsBefore({ extra_content: extra }: ToolCall): Thought[] | undefined {
  // Free-form input of the caller: every member is optional and checked below.
  const { anthropic } = (extra ?? {}) as { anthropic?: { thinking_blocks?: unknown } | null }
  const blocks = anthropic?.thinking_blocks ?? []
  return Array.isArray(blocks) && blocks.every(isThought) ? blocks : undefined
}

function isThought(value: unknown): value is Thought {
  if (typeof value !== 'object' || value === null) return false
  // Any object's members may be read as unknown.
  const { type, thinking, signature, data, ...rest } = value as Record<string, unknown>
  if (Object.keys(rest).length > 0) return false
  if (type === 'redacted_thinking') return typeof data === 'string'
  return type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string'
}
