import { totalmem } from 'node:os'

/** With more the process could take above 600 MB (docs/performance.md#memory). */
const bufferedBytesMost = 192 * 1024 * 1024

/** How many bytes may be held when nobody has set it: a quarter of what the process may use. */
export function bufferedBytesDefault(): number {
  // Without a limit, of a container for example, it is 0 or more than there is.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem())
  return Math.min(Math.floor(memory / 4), bufferedBytesMost)
}
