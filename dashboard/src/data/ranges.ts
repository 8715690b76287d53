import type { Schemas } from './api.ts'
import { place } from './place.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Time ranges that pages offer; each ends now. */
export const ranges = [
  { name: 'day', title: '24 hours', unit: 'hour', stepMs: hourMs, steps: 24 },
  { name: 'week', title: '7 days', unit: 'day', stepMs: dayMs, steps: 7 },
  { name: 'month', title: '30 days', unit: 'day', stepMs: dayMs, steps: 30 },
] as const

type Name = (typeof ranges)[number]['name']

/** The range in the address; the range named `otherwise` when the address has none. */
export function rangeInPlace(otherwise: Name): (typeof ranges)[number] {
  const asked = place.value.query.get('range')
  return ranges.find(({ name }) => name === asked) ?? ranges.find(({ name }) => name === otherwise)!
}

/** Whether the address asks for calls with live keys or test keys. */
export function modeInPlace(): Schemas['Mode'] {
  return place.value.query.get('mode') === 'test' ? 'test' : 'live'
}
