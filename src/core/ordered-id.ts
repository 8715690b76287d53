import { randomInt, randomUUID } from 'node:crypto'

/** Counter of the ids of this process; the random start keeps processes apart. */
let place = randomInt(2 ** 47)

/**
 * A unique id that sorts by time, and within one millisecond by creation order, so that an index grows at
 * its end instead of at random pages; `nowMs` is Unix time in milliseconds.
 */
export function orderedId(prefix: string, nowMs: number): string {
  place += 1
  return `${prefix}_${hex(nowMs)}${hex(place)}${randomUUID().slice(0, 8)}`
}

const half = 2 ** 24

/** Twelve digits. Two halves, because V8 prints integers above 2 ** 31 three times as slowly. */
function hex(value: number): string {
  return halfHex(Math.floor(value / half)) + halfHex(value % half)
}

function halfHex(value: number): string {
  return value.toString(16).padStart(6, '0')
}
