import type { SpendingLimit } from '../core/caller.ts'

/** From when to when a budget counts, Unix times in milliseconds; the end is not in it. */
export type BudgetWindow = { startsAt: number; endsAt: number }

/** The last time that a Date can hold. */
const endOfTime = 8_640_000_000_000_000
const dayMs = 86_400_000

/** The UTC day or month that a time is in, or all time. */
export function windowAt(period: SpendingLimit['period'], at: number): BudgetWindow {
  switch (period) {
    case 'day': {
      const startsAt = Math.floor(at / dayMs) * dayMs
      return { startsAt, endsAt: startsAt + dayMs }
    }
    case 'month': {
      const date = new Date(at)
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
      return { startsAt: Date.UTC(year, month), endsAt: Date.UTC(year, month + 1) }
    }
    case 'total':
      return { startsAt: 0, endsAt: endOfTime }
  }
}

/** When a budget is whole again, Unix time in milliseconds; null for never. */
export function renewalOf({ endsAt }: BudgetWindow): number | null {
  return endsAt === endOfTime ? null : endsAt
}
