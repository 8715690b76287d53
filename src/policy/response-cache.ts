import type { Keyv } from 'keyv'
import { LRUCache } from 'lru-cache'
import type { Remembered } from '../core/recall/remembered.ts'

type ResponseCache = {
  /** Undefined is a miss. A promise only when the far cache has to be asked. */
  recall(key: string): Promise<Remembered | undefined> | Remembered | undefined
  /** Stores an answer unless it is too large; `ttlMs` overrides the configured one. */
  remember(key: string, answer: Remembered, ttlMs: number | undefined): void
}

/** A cache outside of the process. The size of its store must be bounded elsewhere. */
type FarCache = {
  store: Pick<Keyv, 'get' | 'set' | 'on'>
  /** A read that takes longer counts as a miss. */
  timeoutMs: number
  /** Maximum of concurrent writes; further ones are skipped. */
  writesMax: number
  /** Called for each failure; for callers a failure is only a miss. */
  onFailure: (error: unknown) => void
}

type Options = {
  bytesMax: number
  limits: () => { cacheEntryBytesMax: number; cacheTtlSeconds: number }
  far?: FarCache
  /** Unix time in milliseconds, which the processes that share a far cache agree on. */
  clock: () => number
  /** Never jumps; how long an answer is remembered here. */
  monotonic: () => number
}
type Entry = { answer: Remembered; endsAt: number }

const bookkeepingBytes = 1024

/**
 * An LRU cache of answers in memory, bounded in bytes, in front of an optional far cache. It is no
 * Keyv: Keyv serializes its values, which takes milliseconds for a picture
 * (docs/performance.md#response-cache).
 */
export function createResponseCache(options: Options): ResponseCache {
  const { bytesMax, limits, far, clock, monotonic } = options
  const standardTtlMs = () => limits().cacheTtlSeconds * 1000
  const entries = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ answer }) => answer.bytes + bookkeepingBytes,
  })
  const farCache = far === undefined ? undefined : connectFar(far)

  const recallNear = (key: string): Remembered | undefined => {
    const entry = entries.get(key)
    if (entry === undefined || entry.endsAt >= monotonic()) return entry?.answer
    entries.delete(key)
    return undefined
  }
  const recallFar = async (key: string): Promise<Remembered | undefined> => {
    const entry = await farCache?.get(key)
    if (entry === undefined || entry.endsAt < clock()) return undefined
    // Another process wrote it: what its clock says counts for no longer than our own rule.
    const leftMs = Math.min(entry.endsAt - clock(), standardTtlMs())
    entries.set(key, { answer: entry.answer, endsAt: monotonic() + leftMs })
    return entry.answer
  }
  return {
    recall: (key) => {
      const near = recallNear(key)
      return near === undefined && farCache !== undefined ? recallFar(key) : near
    },
    remember: (key, answer, ttlOverrideMs) => {
      const ttl = ttlOverrideMs ?? standardTtlMs()
      if (ttl <= 0 || answer.bytes > limits().cacheEntryBytesMax) return
      entries.set(key, { answer, endsAt: monotonic() + ttl })
      farCache?.set(key, { answer, endsAt: clock() + ttl }, ttl)
    },
  }
}

/** A far cache that is slow or fails is a miss, never an error for the caller. */
function connectFar({ store, timeoutMs, writesMax, onFailure }: FarCache) {
  let writes = 0
  // Without a listener Keyv throws the errors of its store.
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

/** Rejects if the promise takes longer than `timeoutMs`. */
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
