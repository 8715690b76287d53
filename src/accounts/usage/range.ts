import { GatewayError } from '../../core/error.ts'

/** From the first moment to the last, which is left out; Unix time in milliseconds. */
export type TimeRange = { from: number; to: number }

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

const lengthMs = 30 * dayMs
const [earliest, latest] = [Date.UTC(1970, 0), Date.UTC(2100, 0)]
/** A date, or a time with its zone; what makes a plus sign a blank in a query is undone. */
const form = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+ -]\d{2}:\d{2}))?$/

/**
 * The range that is asked for: it ends with the current hour and has 30 days where nothing else is
 * said. Throws `invalid_value` for what is no time, or no range.
 */
export function timeRange(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  now: number,
): TimeRange {
  const end = to === undefined ? Math.floor(now / hourMs) * hourMs + hourMs : moment('to', to)
  const start = from === undefined ? Math.max(end - lengthMs, earliest) : moment('from', from)
  if (start < end) return { from: start, to: end }
  const text = `'from' must be before 'to', which is ${new Date(end).toISOString()}.`
  throw new GatewayError('invalid_value', text, { param: 'from' })
}

/** A time that is asked for; throws `invalid_value` for what is none. */
export function moment(param: 'from' | 'to', text: string): number {
  const [, date, time = ''] = form.exec(text) ?? []
  const isReal = date !== undefined && isDay(date)
  const at = isReal ? Date.parse(date + time.replace(' ', '+')) : Number.NaN
  if (at >= earliest && at <= latest) return at
  const reason = Number.isNaN(at)
    ? 'is no time of ISO 8601. For example: 2026-11-01, or 2026-11-01T08:30:00Z.'
    : 'must be from 1970-01-01 to 2100-01-01.'
  throw new GatewayError('invalid_value', `'${param}' ${reason}`, { param })
}

/** Whether a text such as `2027-02-28` is a day of the calendar. */
export function isDay(text: string): boolean {
  const at = Date.parse(text)
  // JavaScript takes the 30th of February for the 2nd of March.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}
