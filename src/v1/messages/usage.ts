import type { components } from '../../../generated/types.ts'
import type { Usage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import { costFields } from '../../http/receipt-headers.ts'

type Schemas = components['schemas']

/** The usage of a message in Anthropic's form, with the cost fields of the chat API. */
export function messageUsage(usage: Usage, { cost }: Receipt): Schemas['MessageUsage'] {
  return { ...tokenCounts(usage), ...costFields(cost) }
}

/** The counts in Anthropic's form. */
export function tokenCounts(usage: Usage): Schemas['MessageUsage'] {
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0 } = usage
  const { cacheWriteTokens: written = 0, reasoningTokens = 0, webSearches = 0 } = usage
  return {
    // Anthropic's count excludes what was read from the cache or written to it.
    input_tokens: Math.max(0, inputTokens - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    ...(webSearches === 0 ? {} : { server_tool_use: { web_search_requests: webSearches } }),
  }
}
