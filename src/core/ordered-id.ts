import { getRandomValues, randomInt } from 'node:crypto'

/** Counter of the ids of this process; the random start keeps processes apart. */
let place = randomInt(2 ** 47)
const bytes = Buffer.alloc(16)

/**
 * A unique id that sorts by time, and within one millisecond by creation order, so that an index grows at
 * its end instead of at random pages; `nowMs` is Unix time in milliseconds.
 */
export function orderedId(prefix: string, nowMs: number): string {
  place += 1
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes.writeUIntBE(place, 6, 6)
  bytes.writeUInt32BE(randomNumber(), 12)
  return `${prefix}_${bytes.toString('hex')}`
}

const random = new Uint32Array(1024)
let unused = 0

/** 32 random bits. The numbers are drawn in advance, since each draw costs a microsecond. */
function randomNumber(): number {
  if (unused === 0) unused = getRandomValues(random).length
  return random[--unused]!
}
