import { workerCount, type Config } from '../config.ts'

/** Requests of the greatest size that each process has room for, however many there are. */
const requestsMin = 2

/** What one process may hold in memory of what all together may (docs/workers.md#limits). */
export function workerShares(config: Pick<Config, 'workers' | 'limits'>) {
  const { bufferedBytesMax, cacheBytesMax, requestBytesMax } = config.limits
  const count = workerCount(config)
  if (count === 1) return { bufferedBytesMax, cacheBytesMax }
  const least = Math.min(bufferedBytesMax, requestsMin * requestBytesMax)
  return {
    bufferedBytesMax: Math.max(Math.floor(bufferedBytesMax / count), least),
    // The other half is the primary's.
    cacheBytesMax: Math.floor(cacheBytesMax / 2 / count),
  }
}
