import type { Model } from '../core/model.ts'

/** What becomes of a model that is not active: `deprecated until 2026-12-11, then gpt-6`. */
export function endText({ row }: Model): string | undefined {
  const { status, deactivated_at: date, successor } = row
  if (status === 'active') return undefined
  const until = date === undefined || status === 'deactivated' ? '' : ` until ${date}`
  return `${status}${until}${successor === undefined ? '' : `, then ${successor}`}`
}
