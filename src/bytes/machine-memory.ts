import { totalmem } from 'node:os'

/** With a larger budget the process could exceed 600 MB (docs/performance.md#memory). */
const bufferedBytesMost = 192 * 1024 * 1024

/** The default budget: a quarter of the memory that the process may use. */
export function bufferedBytesDefault(): number {
  // `constrainedMemory` is 0 or exceeds the physical memory if no limit is set, as by a container.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem())
  return Math.min(Math.floor(memory / 4), bufferedBytesMost)
}
