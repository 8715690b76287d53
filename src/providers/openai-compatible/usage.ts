import type { Usage } from '../../core/money/price.ts'
import { isMembers, membersOf, type Members } from '../../core/any-json.ts'
import type { ReportedCost } from '../wire/reported-cost.ts'
import { usageOf, type TokensMax } from '../wire/token-count.ts'

/** Token counts of OpenAI-shaped upstreams, not validated. */
export type WireUsage = Members | null

/** The vendor's charge in a `usage`; undefined if absent or implausible. */
export type ReadCost = (wire: object) => ReportedCost | undefined

/** Canonical token counts and cost; undefined if the upstream sent no plausible counts. */
export function readUsage(
  wire: WireUsage | undefined,
  most: TokensMax,
  readCost?: ReadCost,
): Usage | undefined {
  if (wire === null || wire === undefined) return undefined
  const input = membersOf(wire['prompt_tokens_details'])
  const output = membersOf(wire['completion_tokens_details'])
  const usage = usageOf(
    {
      input: [wire['prompt_tokens']],
      output: outputOf(wire, output['reasoning_tokens']),
      cachedInputTokens:
        input['cached_tokens'] ?? wire['prompt_cache_hit_tokens'] ?? wire['cached_tokens'],
      cacheWriteTokens: input['cache_write_tokens'] ?? input['cache_creation_input_tokens'],
      audioInputTokens: input['audio_tokens'],
      imageInputTokens: input['image_tokens'],
      reasoningTokens: output['reasoning_tokens'],
      imageOutputTokens: output['image_tokens'],
      audioOutputTokens: output['audio_tokens'],
    },
    most,
  )
  return usage && { ...usage, ...readCost?.(wire) }
}

/** The token counts of a chunk: its `usage`, or else the `usage` within the chunk's `member`. */
export function usageIn(
  chunk: Readonly<Record<string, unknown>>,
  member: string | undefined,
): WireUsage {
  const beside = member === undefined ? undefined : chunk[member]
  const found = chunk['usage'] || (isMembers(beside) && beside['usage'])
  // All counts are optional; usageOf checks them.
  return isMembers(found) ? found : null
}

/** The output counts. If the total shows that a vendor counts reasoning separately, it is added. */
function outputOf(wire: Members, reasoning: unknown): unknown[] {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = wire
  const isBeside =
    typeof reasoning === 'number' &&
    reasoning > 0 &&
    total === Number(prompt) + Number(completion ?? 0) + reasoning
  return isBeside ? [completion, reasoning] : [completion]
}
