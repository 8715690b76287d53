import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { dropped, type Target } from '../../core/model.ts'
import type { Notes } from '../wire/fields.ts'

type Level = 'minimal' | 'low' | 'medium' | 'high'
export type ThinkingConfig = {
  includeThoughts?: true
  thinkingBudget?: number
  thinkingLevel?: Level
}

/** Models that take a token budget instead of a level (docs/vendors.md#gemini-request). */
const budgeted = /^gemini-2\.5/
/** Models that cannot switch thinking off. */
const alwaysThinks = /^gemini-2\.5-pro/
const budgetMin = 128
const budgets: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
const levels: Record<ReasoningEffort, Level> = {
  none: 'minimal',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

/** The configuration for the requested effort; warns when the effort is adjusted. */
export function writeThinking(
  { reasoning_effort: effort }: ChatRequest,
  { model, upstreamModel }: Target,
  { warnings }: Notes,
): { thinkingConfig?: ThinkingConfig } {
  if (effort === undefined || effort === null) return {}
  if (!model.row.capabilities.reasoning) {
    if (effort === 'none') return {}
    warnings.push(dropped('reasoning_effort', effort, `${model.row.id} does not reason.`))
    return {}
  }
  const level = levels[effort]
  const includeThoughts = effort === 'none' ? {} : { includeThoughts: true as const }
  const adjusted = (applied: unknown) => {
    const reason = `${model.row.id} has no effort '${effort}'.`
    warnings.push({ param: 'reasoning_effort', requested: effort, applied, reason })
  }
  if (!budgeted.test(upstreamModel)) {
    if (level !== effort) adjusted(level)
    return { thinkingConfig: { thinkingLevel: level, ...includeThoughts } }
  }
  const least = alwaysThinks.test(upstreamModel) ? budgetMin : 0
  const thinkingBudget = Math.max(least, budgets[effort])
  if (effort === 'xhigh' || effort === 'max') adjusted('high')
  if (thinkingBudget !== budgets[effort]) adjusted(thinkingBudget)
  return { thinkingConfig: { thinkingBudget, ...includeThoughts } }
}
