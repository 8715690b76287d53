import { randomInt, randomUUID } from 'node:crypto'

/** Counts the ids of this process, from where others do not begin. */
let place = randomInt(2 ** 47)

/**
 * A unique id that sorts by time, those of one millisecond in their order, so that an index grows at
 * its end instead of changing a random page for each row; `nowMs` is Unix time in milliseconds.
 */
export function orderedId(prefix: string, nowMs: number): string {
  place += 1
  return `${prefix}_${hex(nowMs)}${hex(place)}${randomUUID().slice(0, 8)}`
}

function hex(value: number): string {
  return value.toString(16).padStart(12, '0')
}
