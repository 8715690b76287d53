/** A range of time, its end left out, in ISO 8601. */
export type Range = { from: string; to: string }

const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const ranges = [
  { name: 'day', title: '24 hours', unit: 'hour', stepMs: hourMs, steps: 24 },
  { name: 'week', title: '7 days', unit: 'day', stepMs: dayMs, steps: 7 },
  { name: 'month', title: '30 days', unit: 'day', stepMs: dayMs, steps: 30 },
] as const

const hourLabel = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
// Days are those of UTC, as the gateway adds them up.
const dayLabel = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** A range by its name, which ends with the hour or the day that runs; and the one before it. */
export function rangeOf(name: string | null, nowMs: number) {
  const found = ranges.find((one) => one.name === name) ?? ranges[2]
  const { stepMs, steps, unit } = found
  const endMs = (Math.floor(nowMs / stepMs) + 1) * stepMs
  const startMs = endMs - steps * stepMs
  const range = (from: number, to: number): Range => ({ from: isoOf(from), to: isoOf(to) })
  return {
    name: found.name,
    unit,
    now: range(startMs, endMs),
    before: range(startMs - steps * stepMs, startMs),
    /** The beginning of each step, as reports name it. */
    times: () => Array.from({ length: steps }, (_, index) => isoOf(startMs + index * stepMs)),
    labelOf: (at: string) => (unit === 'hour' ? hourLabel : dayLabel).format(new Date(at)),
  }
}

export type RangeOfTime = ReturnType<typeof rangeOf>

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
