import type { components } from '../../../generated/types.ts'
import type { Notes } from '../wire/fields.ts'

type Marked = { cache_control?: components['schemas']['CacheControl'] }

/**
 * Marks the end of a cached prompt prefix. The lifetime is always five minutes, since the catalog
 * has no price for an hour; `1h` is adjusted with a warning.
 */
export function cachedUpTo({ cache_control: mark }: Marked, param: string, notes: Notes) {
  if (mark === undefined) return {}
  if (mark.ttl === '1h') {
    const reason = 'Prompts are cached for 5 minutes only.'
    const path = param === '' ? 'cache_control.ttl' : `${param}.cache_control.ttl`
    notes.warnings.push({ param: path, requested: '1h', applied: '5m', reason })
  }
  return { cache_control: { type: 'ephemeral' as const } }
}
