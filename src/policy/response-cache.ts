import { LRUCache } from 'lru-cache'
import { cacheEntryBytesMax, type Remembered } from '../core/recall/remembered.ts'
import type { FarCache } from './far-cache/far-cache.ts'

export type ResponseCache = {
  /** What this process remembers. */
  recall(key: string): Remembered | undefined
  /** What others remember; absent where there is no far cache. */
  recallFar?: (key: string) => Promise<Remembered | undefined>
  /**
   * Stores an answer unless it is too large; `ttlMs` overrides the configured one. Whether others find
   * it in the far cache; undefined when they do not.
   */
  remember(key: string, answer: Remembered, ttlMs: number | undefined): Promise<boolean> | undefined
}

type Options = {
  bytesMax: number
  limits: () => { cacheTtlSeconds: number }
  far?: FarCache | undefined
  /** Never jumps; how long an answer is remembered here. */
  monotonic: () => number
}
type Entry = { answer: Remembered; endsAt: number }

const bookkeepingBytes = 1024

/**
 * An LRU cache of answers in memory, bounded in bytes, in front of an optional far cache. It is no
 * Keyv, which awaits several times for each look-up (docs/performance.md#response-cache).
 */
export function createResponseCache(options: Options): ResponseCache {
  const { bytesMax, limits, far, monotonic } = options
  const standardTtlMs = () => limits().cacheTtlSeconds * 1000
  const entries = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ answer }) => answer.bytes + bookkeepingBytes,
  })
  const recallFrom = (cache: FarCache) => async (key: string) => {
    const entry = await cache.get(key)
    if (entry === undefined || entry.leftMs <= 0) return undefined
    // Another process wrote it, and may have other settings: it counts for no longer than our own rule.
    const leftMs = Math.min(entry.leftMs, standardTtlMs())
    entries.set(key, { answer: entry.answer, endsAt: monotonic() + leftMs })
    return entry.answer
  }
  return {
    recall: (key) => {
      const entry = entries.get(key)
      if (entry === undefined || entry.endsAt >= monotonic()) return entry?.answer
      entries.delete(key)
      return undefined
    },
    ...(far === undefined ? {} : { recallFar: recallFrom(far) }),
    remember: (key, answer, ttlOverrideMs) => {
      const ttlMs = ttlOverrideMs ?? standardTtlMs()
      if (ttlMs <= 0 || answer.bytes > cacheEntryBytesMax) return undefined
      entries.set(key, { answer, endsAt: monotonic() + ttlMs })
      return far?.set(key, answer, ttlMs)
    },
  }
}
