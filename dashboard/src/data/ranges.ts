import type { Schemas } from './api.ts'
import { place } from './place.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The times that pages tell of, up to now. */
export const ranges = [
  { name: 'day', title: '24 hours', unit: 'hour', stepMs: hourMs, steps: 24 },
  { name: 'week', title: '7 days', unit: 'day', stepMs: dayMs, steps: 7 },
  { name: 'month', title: '30 days', unit: 'day', stepMs: dayMs, steps: 30 },
] as const

type Name = (typeof ranges)[number]['name']

/** The range that the address asks for, or else that of this name. */
export function rangeInPlace(otherwise: Name): (typeof ranges)[number] {
  const asked = place.value.query.get('range')
  return ranges.find(({ name }) => name === asked) ?? ranges.find(({ name }) => name === otherwise)!
}

/** Which keys the address asks about. */
export function modeInPlace(): Schemas['Mode'] {
  return place.value.query.get('mode') === 'test' ? 'test' : 'live'
}
