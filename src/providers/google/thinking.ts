import type { ChatRequest, ReasoningEffort } from '../../core/chat/chat.ts'
import { dropped, type Target } from '../../core/model.ts'
import { nearestEffort } from '../wire/efforts.ts'
import type { Notes } from '../wire/fields.ts'

export type ThinkingConfig = {
  includeThoughts?: true
  thinkingBudget?: number
  thinkingLevel?: ReasoningEffort
}

const budgets: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
/** Levels of all newer models; the default for rows without levels. */
const usual: readonly ReasoningEffort[] = ['low', 'medium', 'high']

/** The configuration for the requested effort; warns when the effort is adjusted. */
export function writeThinking(
  { reasoning_effort: asked }: ChatRequest,
  { model: { row } }: Target,
  { warnings }: Notes,
): { thinkingConfig?: ThinkingConfig } {
  if (asked === undefined || asked === null) return {}
  if (!row.capabilities.reasoning) {
    if (asked === 'none') return {}
    warnings.push(dropped('reasoning_effort', asked, `${row.id} has no reasoning.`))
    return {}
  }
  const { efforts = usual, thinking_tokens_min: budgetMin } = row.chat ?? {}
  const effort = nearestEffort(efforts, asked)
  const includeThoughts = asked === 'none' ? {} : { includeThoughts: true as const }
  const adjusted = (applied: unknown) => {
    const reason = `${row.id} supports the efforts ${efforts.join(', ')}.`
    warnings.push({ param: 'reasoning_effort', requested: asked, applied, reason })
  }
  if (budgetMin === undefined) {
    if (effort !== asked) adjusted(effort)
    return { thinkingConfig: { thinkingLevel: effort, ...includeThoughts } }
  }
  const thinkingBudget = Math.max(budgetMin, budgets[asked])
  if (effort !== asked) adjusted(asked === 'none' ? thinkingBudget : effort)
  return { thinkingConfig: { thinkingBudget, ...includeThoughts } }
}
