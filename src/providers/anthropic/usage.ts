import type { Usage } from '../../core/money/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { membersOf, type Members } from '../wire/any-json.ts'
import { servedTier } from '../wire/served-tier.ts'
import { usageOf, type TokensMax } from '../wire/token-count.ts'

/** Anthropic's token counts; the last event of a stream repeats some of them. Any member may be anything. */
export type WireUsage = Members

/** Adds the cached input, which Anthropic counts apart (docs/vendors.md#anthropic-answer). */
export function readUsage(
  wire: object | undefined,
  most: TokensMax,
  texts: VendorTexts,
): Usage | undefined {
  const told = membersOf(wire)
  const { cache_read_input_tokens: cached, cache_creation_input_tokens: written } = told
  const usage = usageOf(
    {
      input: [told['input_tokens'], cached, written],
      output: [told['output_tokens']],
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      reasoningTokens: membersOf(told['output_tokens_details'])['thinking_tokens'],
    },
    most,
  )
  return usage && { ...usage, ...servedTier(told['service_tier'], texts) }
}
