import { answerFields } from '../openai-compatible/dialect.ts'
import { protocolVendor } from '../openai-compatible/vendor.ts'
import { costOf, nanoUsdOf, type ReportedCost } from '../wire/reported-cost.ts'

/** OpenRouter, with any model that it routes to (docs/vendors.md#openai-compatible-endpoints). */
export const openrouter = protocolVendor({
  id: 'openrouter',
  name: 'OpenRouter',
  keyPrefixes: ['sk-or-'],
  anyModel: true,
  baseUrl: 'https://openrouter.ai/api/v1',
  dialect: {
    readCost,
    // OpenRouter ignores these fields silently, so they are dropped here with a warning.
    without: ['moderation', 'n', 'prompt_cache_retention', 'safety_identifier', 'store'],
    partMark: 'prompt_cache_breakpoint',
    takesCacheControl: true,
    takesImageConfig: true,
    takesBack: [...answerFields, 'audio'],
  },
})

type WireCost = {
  cost?: unknown
  is_byok?: unknown
  cost_details?: { upstream_inference_cost?: unknown } | null
}

/**
 * The cost of a call. With the operator's own key at an upstream vendor, `cost` is only the fee of
 * OpenRouter, and the upstream vendor bills the rest (docs/vendors.md#what-vendors-charge).
 */
function readCost(wire: WireCost): ReportedCost | undefined {
  const { cost, is_byok: isOwnKey, cost_details: details } = wire
  const upstream = details?.upstream_inference_cost
  if (isOwnKey !== true) return costOf(cost)
  const reportedNanoUsd = nanoUsdOf([cost, upstream])
  if (reportedNanoUsd === undefined) return undefined
  return { reportedNanoUsd, upstreamNanoUsd: nanoUsdOf([upstream])! }
}
