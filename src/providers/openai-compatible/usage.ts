import type { Usage } from '../../core/price.ts'
import { isMembers } from '../wire/any-json.ts'
import type { ReportedCost } from '../wire/reported-cost.ts'
import { isTokenCount, tokenCount } from '../wire/token-count.ts'

/** Token counts of OpenAI-shaped upstreams; each member may be missing. */
export type WireUsage = {
  prompt_tokens?: number
  completion_tokens?: number
  total_tokens?: number
  cached_tokens?: number
  prompt_cache_hit_tokens?: number
  prompt_tokens_details?: {
    cached_tokens?: number
    audio_tokens?: number
    image_tokens?: number
    cache_write_tokens?: number
    cache_creation_input_tokens?: number
  } | null
  completion_tokens_details?: { reasoning_tokens?: number; image_tokens?: number } | null
} | null

/** What the vendor charges, as its `usage` tells; undefined when it does not, or nonsense. */
export type ReadCost = (wire: object) => ReportedCost | undefined

/** Canonical token counts and cost; undefined when the upstream sent no counts. */
export function readUsage(wire: WireUsage | undefined, readCost?: ReadCost): Usage | undefined {
  if (!isTokenCount(wire?.prompt_tokens)) return undefined
  const { prompt_tokens_details: input, completion_tokens_details: output } = wire
  const cached = input?.cached_tokens ?? wire.prompt_cache_hit_tokens ?? wire.cached_tokens
  const written = input?.cache_write_tokens ?? input?.cache_creation_input_tokens
  const inputTokens = wire.prompt_tokens
  return {
    inputTokens,
    outputTokens: outputTokens(wire, inputTokens),
    images: 0,
    estimated: false,
    ...optional('cachedInputTokens', cached),
    ...optional('cacheWriteTokens', written),
    ...optional('audioInputTokens', input?.audio_tokens),
    ...optional('imageInputTokens', input?.image_tokens),
    ...optional('reasoningTokens', output?.reasoning_tokens),
    ...optional('imageOutputTokens', output?.image_tokens),
    ...readCost?.(wire),
  }
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
function outputTokens(wire: NonNullable<WireUsage>, inputTokens: number): number {
  const completion = tokenCount(wire.completion_tokens)
  const reasoning = tokenCount(wire.completion_tokens_details?.reasoning_tokens)
  const beside = reasoning > 0 && wire.total_tokens === inputTokens + completion + reasoning
  return beside ? completion + reasoning : completion
}

function optional<Key extends keyof Usage>(key: Key, count: unknown): Partial<Usage> {
  const tokens = tokenCount(count)
  return tokens === 0 ? {} : { [key]: tokens }
}
