import type { Usage } from '../../core/price.ts'
import { tokenCount } from '../wire/token-count.ts'

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
  if (typeof wire?.promptTokenCount !== 'number') return undefined
  const thoughts = tokenCount(wire.thoughtsTokenCount)
  return {
    inputTokens: tokenCount(wire.promptTokenCount) + tokenCount(wire.toolUsePromptTokenCount),
    outputTokens: tokenCount(wire.candidatesTokenCount) + thoughts,
    images: 0,
    estimated: false,
    ...counted('cachedInputTokens', wire.cachedContentTokenCount),
    ...counted('reasoningTokens', thoughts),
    ...counted('imageInputTokens', imageTokens(wire.promptTokensDetails)),
    ...counted('imageOutputTokens', imageTokens(wire.candidatesTokensDetails)),
  }
}

function counted(key: keyof Usage, count: unknown): Partial<Usage> {
  const tokens = tokenCount(count)
  return tokens === 0 ? {} : { [key]: tokens }
}

function imageTokens(details: Details = []): number {
  return details
    .filter(({ modality }) => modality === 'IMAGE')
    .reduce((sum, { tokenCount: count }) => sum + tokenCount(count), 0)
}
