import type { Usage } from '../../core/price.ts'

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
  const thoughts = wire.thoughtsTokenCount ?? 0
  return {
    inputTokens: wire.promptTokenCount + (wire.toolUsePromptTokenCount ?? 0),
    outputTokens: (wire.candidatesTokenCount ?? 0) + thoughts,
    images: 0,
    estimated: false,
    ...counted('cachedInputTokens', wire.cachedContentTokenCount),
    ...counted('reasoningTokens', thoughts),
    ...counted('imageInputTokens', imageTokens(wire.promptTokensDetails)),
    ...counted('imageOutputTokens', imageTokens(wire.candidatesTokensDetails)),
  }
}

function counted(key: keyof Usage, count = 0): Partial<Usage> {
  return count === 0 ? {} : { [key]: count }
}

function imageTokens(details: Details = []): number {
  return details
    .filter(({ modality }) => modality === 'IMAGE')
    .reduce((sum, { tokenCount = 0 }) => sum + tokenCount, 0)
}
