import type { Usage } from '../../core/money/price.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { membersOf, type Members } from '../../core/any-json.ts'
import { usageOf, withTier, type TokensMax } from '../wire/token-count.ts'
import { withSearches } from '../wire/web-search.ts'

/** Anthropic's token counts, not validated; the last event of a stream repeats some of them. */
export type WireUsage = Members

/** Adds the cached input, which Anthropic counts separately (docs/vendors.md#anthropic-answer). */
export function readUsage(
  wire: object | undefined,
  most: TokensMax,
  texts: VendorTexts,
): Usage | undefined {
  const counts = membersOf(wire)
  const { cache_read_input_tokens: cached, cache_creation_input_tokens: written } = counts
  const usage = usageOf(
    {
      input: [counts['input_tokens'], cached, written],
      output: [counts['output_tokens']],
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      reasoningTokens: membersOf(counts['output_tokens_details'])['thinking_tokens'],
    },
    most,
  )
  const searches = membersOf(counts['server_tool_use'])['web_search_requests']
  return usage && withSearches(withTier(usage, counts['service_tier'], texts), searches)
}
