import type { Warning } from '../model.ts'
import { shortened } from './shorten.ts'

/** A caller may send thousands of fields that are dropped. */
const warningsMax = 100
const textLengthMax = 300
const reasonLengthMax = 1000
/** How many values of a list or an object are looked at before it is too large to be repeated. */
const valuesMax = 50

/**
 * The warnings as they are returned and cached. They quote what the caller sent, which may be
 * megabytes: values and reasons are cut, and warnings after the hundredth are counted.
 */
export function shortenedWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length === 0) return warnings
  const shown = warnings.slice(0, warningsMax).map(({ param, requested, applied, reason }) => ({
    param: shortened(param, textLengthMax),
    requested: shortValue(requested),
    applied: shortValue(applied),
    reason: shortened(reason, reasonLengthMax),
  }))
  if (warnings.length <= warningsMax) return shown
  const reason = `There are ${warnings.length} adjustments; the others are not listed.`
  const rest = { param: 'warnings', requested: warnings.length, applied: warningsMax, reason }
  return [...shown, rest]
}

function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, textLengthMax)
  return isSmall(value, { values: valuesMax }) ? value : 'too large to be repeated'
}

/** Whether a value has few members and short texts; looks at no more than `left.values` of them. */
function isSmall(value: unknown, left: { values: number }): boolean {
  if (left.values-- <= 0) return false
  if (typeof value === 'string') return value.length <= textLengthMax
  if (typeof value !== 'object' || value === null) return true
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    // Its own member, whatever it is.
    const inner = (value as Readonly<Record<string, unknown>>)[name]
    if (name.length > textLengthMax || !isSmall(inner, left)) return false
  }
  return true
}
