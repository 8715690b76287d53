import type { components } from '../../generated/types.ts'
import type { Warning } from '../core/model.ts'
import { shortened } from '../core/words/shorten.ts'

type Told = components['schemas']['Warning']

/** So many of a call are kept: a row is read again for years. */
const warningsMax = 20
const textLengthMax = 300

/** Values that are a setting and no part of a prompt: those are stored nowhere. */
const plainValue = /^[\w.:/+-]{1,64}$/

/** The warnings of a call as a row keeps them; null for none. */
export function warningsText(warnings: readonly Warning[]): string | null {
  if (warnings.length === 0) return null
  const kept = warnings
    .slice(0, warningsMax)
    .map(({ param, requested, applied, reason }): Told => ({
      param: shortened(param, textLengthMax),
      requested: plain(requested),
      applied: plain(applied),
      reason: shortened(reason, textLengthMax),
    }))
  const left = warnings.length - kept.length
  if (left > 0) {
    const reason = `There were ${left} more adjustments, which are not kept.`
    kept.push({ param: 'warnings', requested: warnings.length, applied: warningsMax, reason })
  }
  return JSON.stringify(kept)
}

/** What `warningsText` has kept; null for rows of versions that did not keep it. */
export function readWarnings(text: string | null): Told[] {
  return text === null ? [] : (JSON.parse(text) as Told[])
}

function plain(value: unknown): string | number | boolean | null {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return typeof value === 'string' && plainValue.test(value) ? value : null
}
