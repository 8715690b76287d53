import type {
  ContentBlock,
  RedactedThinkingBlockParam,
  ThinkingBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { components } from '../../../generated/types.ts'
import { membersOf } from '../../core/any-json.ts'

type ToolCall = components['schemas']['FunctionToolCall']
/** A signed thinking block. The client must send back the block before a tool call unchanged. */
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

/**
 * Attaches thinking blocks to a call, so that the client sends them back with its result. Only the
 * model that produced them accepts them (docs/vendors.md#anthropic-thinking).
 */
export function withThoughts<Call extends object>(
  call: Call,
  thoughts: readonly Thought[],
  model: string,
) {
  if (thoughts.length === 0) return call
  return { ...call, extra_content: { anthropic: { model, thinking_blocks: thoughts } } }
}

export const thoughtsPath = 'extra_content.anthropic.thinking_blocks'

/**
 * The thinking blocks that the client sent back with a call: empty if another model produced them,
 * undefined if they are malformed.
 */
export function thoughtsOfCall(
  { extra_content: extra }: Pick<ToolCall, 'extra_content'>,
  model: string,
): Thought[] | undefined {
  // `thinking_blocks` and `model` of the caller are checked below.
  const { thinking_blocks: blocks = [], model: thinker = model } = membersOf(extra?.['anthropic'])
  if (!Array.isArray(blocks) || !blocks.every(isThought)) return undefined
  return thinker === model ? blocks : []
}

function isThought(value: unknown): value is Thought {
  if (typeof value !== 'object' || value === null) return false
  // Any object can be read as a record of unknown values.
  const { type, thinking, signature, data, ...rest } = value as Record<string, unknown>
  if (Object.keys(rest).length > 0) return false
  if (type === 'redacted_thinking') return typeof data === 'string'
  return type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string'
}
