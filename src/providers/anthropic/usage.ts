import type { Usage } from '../../core/price.ts'

/** Anthropic's token counts; the last event of a stream repeats some of them. */
export type WireUsage = {
  input_tokens?: number | null
  cache_creation_input_tokens?: number | null
  cache_read_input_tokens?: number | null
  output_tokens?: number | null
  output_tokens_details?: { thinking_tokens?: number } | null
}

/** Adds the cached input, which Anthropic counts apart (docs/vendors.md#anthropic-answer). */
export function readUsage(wire: WireUsage | undefined): Usage | undefined {
  if (typeof wire?.input_tokens !== 'number') return undefined
  const cachedInputTokens = wire.cache_read_input_tokens ?? 0
  const cacheWriteTokens = wire.cache_creation_input_tokens ?? 0
  const reasoningTokens = wire.output_tokens_details?.thinking_tokens ?? 0
  return {
    inputTokens: wire.input_tokens + cachedInputTokens + cacheWriteTokens,
    outputTokens: wire.output_tokens ?? 0,
    images: 0,
    estimated: false,
    ...(cachedInputTokens > 0 ? { cachedInputTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  }
}
