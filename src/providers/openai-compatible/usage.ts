import type { Usage } from '../../core/price.ts'

/** Token counts of OpenAI-shaped upstreams; each member may be missing. */
export type WireUsage = {
  prompt_tokens?: number
  completion_tokens?: number
  total_tokens?: number
  cached_tokens?: number
  prompt_cache_hit_tokens?: number
  prompt_tokens_details?: {
    cached_tokens?: number
    image_tokens?: number
    cache_write_tokens?: number
    cache_creation_input_tokens?: number
  } | null
  completion_tokens_details?: { reasoning_tokens?: number; image_tokens?: number } | null
} | null

/** Canonical token counts; undefined when the upstream sent none. */
export function readUsage(wire: WireUsage | undefined): Usage | undefined {
  if (typeof wire?.prompt_tokens !== 'number') return undefined
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
    ...optional('imageInputTokens', input?.image_tokens),
    ...optional('reasoningTokens', output?.reasoning_tokens),
    ...optional('imageOutputTokens', output?.image_tokens),
  }
}

/** Some vendors count reasoning on top of the completion; the total shows whether. */
function outputTokens(wire: NonNullable<WireUsage>, inputTokens: number): number {
  const { completion_tokens: completion = 0, total_tokens: total } = wire
  const reasoning = wire.completion_tokens_details?.reasoning_tokens ?? 0
  const beside = reasoning > 0 && total === inputTokens + completion + reasoning
  return beside ? completion + reasoning : completion
}

function optional<Key extends keyof Usage>(key: Key, count: number | undefined): Partial<Usage> {
  return count === undefined || count === 0 ? {} : { [key]: count }
}
