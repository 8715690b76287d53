import type { Usage } from '../../core/price.ts'
import { isTokenCount, tokenCount } from '../wire/token-count.ts'

type Details = { modality?: string; tokenCount?: number }[]
/** Gemini's token counts; in a stream they grow from event to event. */
export type WireUsage = {
  promptTokenCount?: number
  toolUsePromptTokenCount?: number
  candidatesTokenCount?: number
  thoughtsTokenCount?: number
  cachedContentTokenCount?: number
  promptTokensDetails?: Details
  candidatesTokensDetails?: Details
}

/** Canonical token counts (docs/vendors.md#gemini-answer); undefined when there are none. */
export function readUsage(wire: WireUsage | undefined): Usage | undefined {
  if (!isTokenCount(wire?.promptTokenCount)) return undefined
  const thoughts = tokenCount(wire.thoughtsTokenCount)
  return {
    inputTokens: wire.promptTokenCount + tokenCount(wire.toolUsePromptTokenCount),
    outputTokens: tokenCount(wire.candidatesTokenCount) + thoughts,
    images: 0,
    estimated: false,
    ...counted('cachedInputTokens', wire.cachedContentTokenCount),
    ...counted('reasoningTokens', thoughts),
    ...counted('audioInputTokens', tokensOf('AUDIO', wire.promptTokensDetails)),
    ...counted('imageInputTokens', tokensOf('IMAGE', wire.promptTokensDetails)),
    ...counted('imageOutputTokens', tokensOf('IMAGE', wire.candidatesTokensDetails)),
  }
}

function counted(key: keyof Usage, count: unknown): Partial<Usage> {
  const tokens = tokenCount(count)
  return tokens === 0 ? {} : { [key]: tokens }
}

function tokensOf(kind: string, details: Details = []): number {
  return details
    .filter(({ modality }) => modality === kind)
    .reduce((sum, { tokenCount: count }) => sum + tokenCount(count), 0)
}
