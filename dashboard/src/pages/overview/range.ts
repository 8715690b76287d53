import { rangeInPlace } from '../../data/ranges.ts'

/** A range of time, its end left out, in ISO 8601. */
export type Range = { from: string; to: string }

const hourLabel = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
// Days are those of UTC, as the gateway adds them up.
const dayLabel = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** The range that is asked for, which ends with the hour or the day that runs; and the one before it. */
export function rangeUntil(nowMs: number) {
  const { name, stepMs, steps, unit } = rangeInPlace('month')
  const endMs = (Math.floor(nowMs / stepMs) + 1) * stepMs
  const startMs = endMs - steps * stepMs
  const range = (from: number, to: number): Range => ({ from: isoOf(from), to: isoOf(to) })
  return {
    name,
    unit,
    lastMs: steps * stepMs,
    now: range(startMs, endMs),
    before: range(startMs - steps * stepMs, startMs),
    /** The beginning of each step, as reports name it. */
    times: () => Array.from({ length: steps }, (_, index) => isoOf(startMs + index * stepMs)),
    labelOf: (at: string) => (unit === 'hour' ? hourLabel : dayLabel).format(new Date(at)),
  }
}

export type RangeOfTime = ReturnType<typeof rangeUntil>

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
