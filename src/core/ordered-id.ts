import { getRandomValues, randomInt } from 'node:crypto'

/** Counter of the ids of this process; the random start keeps processes apart. */
let place = randomInt(2 ** 47)

/**
 * A unique id that sorts by time, and within one millisecond by creation order, so that an index grows at
 * its end instead of at random pages; `nowMs` is Unix time in milliseconds.
 */
export function orderedId(prefix: string, nowMs: number): string {
  place += 1
  return `${prefix}_${hex(nowMs)}${hex(place)}${randomHex()}`
}

const random = new Uint16Array(2048)
let unused = 0

/** Eight random digits. The numbers are drawn in advance, since each draw costs a microsecond. */
function randomHex(): string {
  if (unused === 0) unused = getRandomValues(random).length
  return digits(random[--unused]!, 4) + digits(random[--unused]!, 4)
}

const half = 2 ** 24

/** Twelve digits. Two halves, because V8 prints integers above 2 ** 31 three times as slowly. */
function hex(value: number): string {
  return digits(Math.floor(value / half), 6) + digits(value % half, 6)
}

function digits(value: number, length: number): string {
  return value.toString(16).padStart(length, '0')
}
