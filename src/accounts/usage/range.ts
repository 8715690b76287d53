import { isDay } from '../../core/time.ts'
import { GatewayError } from '../../core/error.ts'

/** A range of Unix times in milliseconds; `to` is exclusive. */
export type TimeRange = { from: number; to: number }

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

const lengthMs = 30 * dayMs
const [earliest, latest] = [Date.UTC(1970, 0), Date.UTC(2100, 0)]
/** A date, or a time with its zone. A space before the offset is a plus sign that a query string decoded. */
const form = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+ -]\d{2}:\d{2}))?$/

/**
 * The requested range; by default it ends with the current hour and lasts 30 days. Throws `invalid_value`
 * for an invalid time, or if `from` is not before `to`.
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

/** Parses a requested time. Throws `invalid_value`. */
export function moment(param: 'from' | 'to', text: string): number {
  const [, date, time = ''] = form.exec(text) ?? []
  const isReal = date !== undefined && isDay(date)
  const at = isReal ? Date.parse(date + time.replace(' ', '+')) : Number.NaN
  if (at >= earliest && at <= latest) return at
  const reason = Number.isNaN(at)
    ? 'must be an ISO 8601 date or time. For example: 2026-11-01, or 2026-11-01T08:30:00Z.'
    : 'must be from 1970-01-01 to 2100-01-01.'
  throw new GatewayError('invalid_value', `'${param}' ${reason}`, { param })
}
