import type { ReasoningEffort } from '../../core/chat/chat.ts'

const ascending: readonly ReasoningEffort[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

/** The closest effort that a model offers; of two equally close efforts, the higher effort. */
export function nearestEffort(
  offered: readonly ReasoningEffort[],
  wanted: ReasoningEffort,
): ReasoningEffort {
  const distance = (effort: ReasoningEffort) =>
    Math.abs(ascending.indexOf(effort) - ascending.indexOf(wanted))
  return offered.reduce((best, one) => (distance(one) <= distance(best) ? one : best))
}
