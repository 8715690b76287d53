import { totalmem } from 'node:os'

/** With a larger budget the process could exceed 600 MB (docs/performance.md#memory). */
const bufferedBytesMost = 192 * 1024 * 1024

/** The base64 of one PNG of 4096x4096. */
const pictureBytesLeast = 64 * 1024 * 1024

/** The default budget: a quarter of the memory that the process may use. */
export function bufferedBytesDefault(): number {
  return Math.min(quarterOfMemory(), bufferedBytesMost)
}

/** The memory for large pictures, which grows with the memory that the process may use. */
export function pictureBytesDefault(): number {
  return Math.max(quarterOfMemory(), pictureBytesLeast)
}

function quarterOfMemory(): number {
  // `constrainedMemory` is 0 or exceeds the physical memory if no limit is set, as by a container.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem())
  return Math.floor(memory / 4)
}
