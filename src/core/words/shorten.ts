import type { Warning } from '../model.ts'

/** Limits the list, since a request may contain thousands of ignored fields. */
const warningsMax = 100
const textLengthMax = 300
const reasonLengthMax = 1000
/** A list or an object with more values is not quoted. */
const valuesMax = 50

/** Cuts a text to at most `lengthMax` characters, with a mark when it was longer. */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
}

/** An untrusted text on one line of at most `lengthMax` characters, without control and bidirectional characters. */
export function plainLine(text: string, lengthMax: number): string {
  return shortened(text.replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ').trim(), lengthMax)
}

/**
 * Shortens warnings before they are returned and cached. They quote the request, which may be megabytes:
 * values and reasons are cut, and warnings after the hundredth are only counted.
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
  const reason = `There are ${warnings.length} warnings; only the first ${warningsMax} are listed.`
  const rest = { param: 'warnings', requested: warnings.length, applied: warningsMax, reason }
  return [...shown, rest]
}

function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, textLengthMax)
  return isSmall(value, { values: valuesMax }) ? value : 'too large to be repeated'
}

/** Whether a value has few members and short texts; visits at most `left.values` of them. */
function isSmall(value: unknown, left: { values: number }): boolean {
  if (left.values-- <= 0) return false
  if (typeof value === 'string') return value.length <= textLengthMax
  if (typeof value !== 'object' || value === null) return true
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    const inner = (value as Readonly<Record<string, unknown>>)[name]
    if (name.length > textLengthMax || !isSmall(inner, left)) return false
  }
  return true
}
