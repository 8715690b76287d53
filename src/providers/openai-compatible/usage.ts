import type { Usage } from '../../core/price.ts'

/** Token counts as OpenAI-shaped upstreams write them; each member may be missing. */
export type WireUsage = {
  prompt_tokens?: number
  completion_tokens?: number
  prompt_cache_hit_tokens?: number
  prompt_tokens_details?: { cached_tokens?: number; image_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number; image_tokens?: number } | null
} | null

/** The counts in our words; undefined when the upstream counted nothing. */
export function readUsage(wire: WireUsage | undefined): Usage | undefined {
  if (typeof wire?.prompt_tokens !== 'number') return undefined
  const { prompt_tokens_details: input, completion_tokens_details: output } = wire
  const cached = input?.cached_tokens ?? wire.prompt_cache_hit_tokens
  return {
    inputTokens: wire.prompt_tokens,
    outputTokens: wire.completion_tokens ?? 0,
    images: 0,
    estimated: false,
    ...optional('cachedInputTokens', cached),
    ...optional('imageInputTokens', input?.image_tokens),
    ...optional('reasoningTokens', output?.reasoning_tokens),
    ...optional('imageOutputTokens', output?.image_tokens),
  }
}

function optional<Key extends keyof Usage>(key: Key, count: number | undefined): Partial<Usage> {
  return count === undefined || count === 0 ? {} : { [key]: count }
}
