import type { Warning } from './model.ts'
import { shortened } from './shortened.ts'

/** A caller may send thousands of fields that are dropped; nobody reads all of them. */
const warningsMax = 100
const textLengthMax = 300
const reasonLengthMax = 1000
/** How many values of a list or an object are looked at before it is too large to be repeated. */
const valuesMax = 50

/**
 * The warnings as callers are told them and as the cache remembers them: they quote what the caller
 * sent, which may be megabytes.
 */
export function toldWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length === 0) return warnings
  const told = warnings.slice(0, warningsMax).map(({ param, requested, applied, reason }) => ({
    param: shortened(param, textLengthMax),
    requested: toldValue(requested),
    applied: toldValue(applied),
    reason: shortened(reason, reasonLengthMax),
  }))
  if (warnings.length <= warningsMax) return told
  const reason = `There are ${warnings.length} adjustments; the others are not listed.`
  const rest = { param: 'warnings', requested: warnings.length, applied: warningsMax, reason }
  return [...told, rest]
}

function toldValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, textLengthMax)
  return isSmall(value, { values: valuesMax }) ? value : 'too large to be repeated'
}

/** Whether a value is soon told; looks at no more than the values that are left. */
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
