import type { Usage } from '../../core/money/price.ts'
import { itemsOf, membersOf, type Members } from '../../core/any-json.ts'
import { countIn, usageOf, type TokensMax } from '../wire/token-count.ts'

/** Gemini's token counts, not validated; in a stream they grow from event to event. */
export type WireUsage = Members

/** Canonical token counts (docs/vendors.md#gemini-answer); undefined if none are plausible. */
export function readUsage(wire: object | undefined, most: TokensMax): Usage | undefined {
  const counts = membersOf(wire)
  const { promptTokenCount, toolUsePromptTokenCount, thoughtsTokenCount } = counts
  return usageOf(
    {
      input: [promptTokenCount, toolUsePromptTokenCount],
      output: [counts['candidatesTokenCount'], thoughtsTokenCount],
      cachedInputTokens: counts['cachedContentTokenCount'],
      reasoningTokens: thoughtsTokenCount,
      audioInputTokens: tokensOf('AUDIO', counts['promptTokensDetails']),
      imageInputTokens: tokensOf('IMAGE', counts['promptTokensDetails']),
      imageOutputTokens: tokensOf('IMAGE', counts['candidatesTokensDetails']),
      audioOutputTokens: tokensOf('AUDIO', counts['candidatesTokensDetails']),
    },
    most,
  )
}

/** The token count of a modality. An invalid count is returned unchanged, for usageOf to detect. */
function tokensOf(kind: string, details: unknown): unknown {
  const listed = itemsOf(details)
    .map(membersOf)
    .filter(({ modality }) => modality === kind)
    .map(({ tokenCount }) => tokenCount)
  const invalid = listed.find((count) => countIn(count) !== count)
  return invalid ?? listed.reduce<number>((sum, count) => sum + (countIn(count) ?? 0), 0)
}
