import type { Usage } from '../../core/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { servedTier } from '../wire/served-tier.ts'
import { isTokenCount, tokenCount } from '../wire/token-count.ts'

/** Anthropic's token counts; the last event of a stream repeats some of them. */
export type WireUsage = {
  input_tokens?: number | null
  cache_creation_input_tokens?: number | null
  cache_read_input_tokens?: number | null
  output_tokens?: number | null
  output_tokens_details?: { thinking_tokens?: number } | null
  service_tier?: string | null
}

/** Adds the cached input, which Anthropic counts apart (docs/vendors.md#anthropic-answer). */
export function readUsage(wire: WireUsage | undefined, texts: VendorTexts): Usage | undefined {
  if (!isTokenCount(wire?.input_tokens)) return undefined
  const cachedInputTokens = tokenCount(wire.cache_read_input_tokens)
  const cacheWriteTokens = tokenCount(wire.cache_creation_input_tokens)
  const reasoningTokens = tokenCount(wire.output_tokens_details?.thinking_tokens)
  const { service_tier: tier } = wire
  return {
    inputTokens: wire.input_tokens + cachedInputTokens + cacheWriteTokens,
    outputTokens: tokenCount(wire.output_tokens),
    images: 0,
    estimated: false,
    ...(cachedInputTokens > 0 ? { cachedInputTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
    ...servedTier(tier, texts),
  }
}
