import type { Usage } from '../../core/money/price.ts'
import { itemsOf, membersOf, type Members } from '../wire/any-json.ts'
import { countIn, usageOf, type TokensMax } from '../wire/token-count.ts'

/** Gemini's token counts; in a stream they grow from event to event. Any member may be anything. */
export type WireUsage = Members

/** Canonical token counts (docs/vendors.md#gemini-answer); undefined when there are none that can be. */
export function readUsage(wire: object | undefined, most: TokensMax): Usage | undefined {
  const told = membersOf(wire)
  const { promptTokenCount, toolUsePromptTokenCount, thoughtsTokenCount } = told
  return usageOf(
    {
      input: [promptTokenCount, toolUsePromptTokenCount],
      output: [told['candidatesTokenCount'], thoughtsTokenCount],
      cachedInputTokens: told['cachedContentTokenCount'],
      reasoningTokens: thoughtsTokenCount,
      audioInputTokens: tokensOf('AUDIO', told['promptTokensDetails']),
      imageInputTokens: tokensOf('IMAGE', told['promptTokensDetails']),
      imageOutputTokens: tokensOf('IMAGE', told['candidatesTokensDetails']),
      audioOutputTokens: tokensOf('AUDIO', told['candidatesTokensDetails']),
    },
    most,
  )
}

/** The tokens of a modality: what is no count is told, so that it is doubted. */
function tokensOf(kind: string, details: unknown): unknown {
  const told = itemsOf(details)
    .map(membersOf)
    .filter(({ modality }) => modality === kind)
    .map(({ tokenCount }) => tokenCount)
  const strange = told.find((count) => countIn(count) !== count)
  return strange ?? told.reduce<number>((sum, count) => sum + (countIn(count) ?? 0), 0)
}
