import type { Usage } from '../../core/money/price.ts'
import { isMembers, membersOf, type Members } from '../wire/any-json.ts'
import type { ReportedCost } from '../wire/reported-cost.ts'
import { usageOf, type TokensMax } from '../wire/token-count.ts'

/** Token counts of OpenAI-shaped upstreams; any member may be missing, or anything. */
export type WireUsage = Members | null

/** What the vendor charges, as its `usage` tells; undefined when it does not, or nonsense. */
export type ReadCost = (wire: object) => ReportedCost | undefined

/** Canonical token counts and cost; undefined when the upstream sent no counts that can be. */
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

/** The token counts in a chunk: its `usage`, else that within the vendor's own `member`. */
export function usageIn(
  chunk: Readonly<Record<string, unknown>>,
  member: string | undefined,
): WireUsage {
  const beside = member === undefined ? undefined : chunk[member]
  const found = chunk['usage'] || (isMembers(beside) && beside['usage'])
  // Every count is optional and checked where it is read.
  return isMembers(found) ? found : null
}

/** Some vendors count reasoning on top of the completion; the total shows whether. */
function outputOf(wire: Members, reasoning: unknown): unknown[] {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = wire
  const isBeside =
    typeof reasoning === 'number' &&
    reasoning > 0 &&
    total === Number(prompt) + Number(completion ?? 0) + reasoning
  return isBeside ? [completion, reasoning] : [completion]
}
