import { rangeInPlace } from '../../data/ranges.ts'

/** A time range in ISO 8601; `to` is exclusive. */
export type Range = { from: string; to: string }

const hourLabel = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
// Labels days in UTC, since the gateway sums usage by days in UTC.
const dayLabel = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** The chosen range, which ends with the current hour or day, and the range before it. */
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
    /** Start of each step, in the form that reports use. */
    times: () => Array.from({ length: steps }, (_, index) => isoOf(startMs + index * stepMs)),
    labelOf: (at: string) => (unit === 'hour' ? hourLabel : dayLabel).format(new Date(at)),
  }
}

export type RangeOfTime = ReturnType<typeof rangeUntil>

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
