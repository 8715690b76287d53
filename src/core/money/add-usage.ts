import type { Usage } from './price.ts'

type Told = 'serviceTier' | 'reportedNanoUsd' | 'upstreamNanoUsd'

/** What two upstream calls have used together. */
export function addUsage(a: Usage, b: Usage): Usage {
  return { ...addCounts(a, b), ...addTold(a, b) }
}

/** Required, so that a class of tokens that the contract gains is not forgotten here. */
function addCounts(a: Usage, b: Usage): Required<Omit<Usage, Told>> {
  const sum = (x = 0, y = 0) => x + y
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: sum(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: sum(a.cacheWriteTokens, b.cacheWriteTokens),
    audioInputTokens: sum(a.audioInputTokens, b.audioInputTokens),
    imageInputTokens: sum(a.imageInputTokens, b.imageInputTokens),
    imageOutputTokens: sum(a.imageOutputTokens, b.imageOutputTokens),
    audioOutputTokens: sum(a.audioOutputTokens, b.audioOutputTokens),
    reasoningTokens: sum(a.reasoningTokens, b.reasoningTokens),
    images: a.images + b.images,
    estimated: a.estimated || b.estimated,
  }
}

/** A sum of what the vendor charges says something only if it told so for each part. */
function addTold(a: Usage, b: Usage): Pick<Usage, Told> {
  const tiers = new Set([a.serviceTier, b.serviceTier])
  // Different tiers together have no price, as one that is not known.
  const tier = tiers.size === 1 ? a.serviceTier : [...tiers].join('+')
  const isReported = a.reportedNanoUsd !== undefined && b.reportedNanoUsd !== undefined
  const upstream = (a.upstreamNanoUsd ?? 0) + (b.upstreamNanoUsd ?? 0)
  return {
    ...(tier === undefined ? {} : { serviceTier: tier }),
    ...(isReported ? { reportedNanoUsd: a.reportedNanoUsd! + b.reportedNanoUsd! } : {}),
    ...(isReported && upstream > 0 ? { upstreamNanoUsd: upstream } : {}),
  }
}
