import type { Keyv } from 'keyv'
import { LRUCache } from 'lru-cache'
import type { Remembered } from '../core/recall/remembered.ts'

export type ResponseCache = {
  /** The answer, at once where the memory has it; a promise only where the far cache is asked. */
  recall(key: string): Promise<Remembered | undefined> | Remembered | undefined
  /** Keeps an answer, unless it is too large; `ttlMs` overrides how long. */
  remember(key: string, answer: Remembered, ttlMs: number | undefined): void
}

/** A cache outside of the process: a Keyv whose store is bounded by whoever set it up. */
export type FarCache = {
  store: Pick<Keyv, 'get' | 'set' | 'on'>
  /** How long it may take; a slower one counts as a miss. */
  timeoutMs: number
  /** Writes under way at once; further ones are left out. */
  writesMax: number
  /** Told of each failure, which costs callers nothing but a miss. */
  onFailure: (error: unknown) => void
}

type Options = {
  bytesMax: number
  entryBytesMax: number
  ttlMs: number
  far?: FarCache
  clock: () => number
}
type Entry = { answer: Remembered; endsAt: number }

const bookkeepingBytes = 1024

/**
 * Remembered answers in memory, bounded in bytes, least recently used out first; behind it the far cache,
 * where there is one. The memory is not a Keyv itself: Keyv serializes what it keeps, which costs
 * milliseconds for a picture (docs/performance.md#response-cache).
 */
export function createResponseCache(options: Options): ResponseCache {
  const { bytesMax, entryBytesMax, ttlMs, far, clock } = options
  const entries = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ answer }) => answer.bytes + bookkeepingBytes,
  })
  const farther = far === undefined ? undefined : askFar(far)

  const recallNear = (key: string): Remembered | undefined => {
    const entry = entries.get(key)
    if (entry === undefined || entry.endsAt >= clock()) return entry?.answer
    entries.delete(key)
    return undefined
  }
  const recallFar = async (key: string): Promise<Remembered | undefined> => {
    const entry = await farther?.get(key)
    if (entry === undefined || entry.endsAt < clock()) return undefined
    entries.set(key, entry)
    return entry.answer
  }
  return {
    recall: (key) => {
      const near = recallNear(key)
      return near === undefined && farther !== undefined ? recallFar(key) : near
    },
    remember: (key, answer, ttlOverrideMs) => {
      const ttl = ttlOverrideMs ?? ttlMs
      if (ttl <= 0 || answer.bytes > entryBytesMax) return
      const entry = { answer, endsAt: clock() + ttl }
      entries.set(key, entry)
      farther?.set(key, entry, ttl)
    },
  }
}

/** A far cache that is slow, full or down is a miss, never an error and never a wait. */
function askFar({ store, timeoutMs, writesMax, onFailure }: FarCache) {
  let writes = 0
  // Without a listener Keyv throws what its store reports.
  store.on('error', onFailure)
  return {
    get: (key: string): Promise<Entry | undefined> =>
      within(timeoutMs, store.get<Entry>(key)).catch((error: unknown) => {
        onFailure(error)
        return undefined
      }),
    set: (key: string, entry: Entry, ttlMs: number): void => {
      if (writes >= writesMax) return
      writes++
      store
        .set(key, entry, ttlMs)
        .catch(onFailure)
        .finally(() => writes--)
    },
  }
}

/** Rejects when the promise takes longer. */
async function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const message = `The far cache did not answer within ${timeoutMs} ms.`
  const timer = setTimeout(() => late.reject(new Error(message)), timeoutMs)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
