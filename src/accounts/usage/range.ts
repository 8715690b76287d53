import { isDay } from '../../core/time.ts'
import { GatewayError } from '../../core/error.ts'

/** A range of Unix times in milliseconds; `to` is exclusive. */
export type TimeRange = { from: number; to: number }

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

const lengthMs = 30 * dayMs
const [earliest, latest] = [Date.UTC(1970, 0), Date.UTC(2100, 0)]

/**
 * The requested range; by default it ends with the current hour and lasts 30 days. Throws `invalid_value`
 * for a time that does not exist, or if `from` is not before `to`.
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

/** The time in a text of the schema `RangeTime`. Throws `invalid_value` for a day or hour that does not exist. */
export function moment(param: 'from' | 'to', text: string): number {
  const isReal = isDay(text.slice(0, 'yyyy-mm-dd'.length))
  // A query string decodes the plus sign of an offset to a space.
  const at = isReal ? Date.parse(text.replace(' ', '+')) : Number.NaN
  if (at >= earliest && at <= latest) return at
  const reason = Number.isNaN(at)
    ? 'that does not exist'
    : 'before 1970 or after the beginning of 2100'
  throw new GatewayError('invalid_value', `'${param}' is a time ${reason}: ${text}.`, { param })
}
