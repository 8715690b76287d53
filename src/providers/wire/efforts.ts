import type { ReasoningEffort } from '../../core/chat/chat.ts'

const rising: readonly ReasoningEffort[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

/** The nearest of the efforts that a model has; of two equally near, the higher. */
export function nearestEffort(
  offered: readonly ReasoningEffort[],
  asked: ReasoningEffort,
): ReasoningEffort {
  const distance = (effort: ReasoningEffort) =>
    Math.abs(rising.indexOf(effort) - rising.indexOf(asked))
  return offered.reduce((best, one) => (distance(one) <= distance(best) ? one : best))
}
