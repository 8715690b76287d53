import { randomUUID } from 'node:crypto'

/** The last id of this process, without the part that is by chance. */
let last = { atMs: Number.NaN, place: 0 }

/**
 * A unique id that sorts by time, those of one millisecond in their order, so that an index grows at
 * its end instead of changing a random page for each row; `nowMs` is Unix time in milliseconds.
 */
export function orderedId(prefix: string, nowMs: number): string {
  const chance = randomUUID()
  // Begins with 44 random bits, so that other processes have others.
  const place = nowMs === last.atMs ? last.place + 1 : Number.parseInt(chance.slice(25), 16)
  last = { atMs: nowMs, place }
  const hex = (value: number) => value.toString(16).padStart(12, '0')
  return `${prefix}_${hex(nowMs)}${hex(place)}${chance.slice(0, 8)}`
}
