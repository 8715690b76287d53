import { LRUCache } from 'lru-cache'
import type { Remembered } from '../core/gateway.ts'

export type ResponseCache = {
  recall(key: string): Remembered | undefined
  /** Keeps an answer, unless it is too large; `ttlMs` overrides how long. */
  remember(key: string, answer: Remembered, ttlMs: number | undefined): void
}

type Options = { bytesMax: number; entryBytesMax: number; ttlMs: number; clock: () => number }

const bookkeepingBytes = 1024

/**
 * Remembered answers in memory, bounded in bytes; the least recently used go first. Without Keyv
 * around it, which costs more than the look-up (performance.md section 10).
 */
export function createResponseCache(options: Options): ResponseCache {
  const { bytesMax, entryBytesMax, ttlMs, clock } = options
  const entries = new LRUCache<string, Remembered>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ bytes }) => bytes + bookkeepingBytes,
    ttl: 1,
    ttlResolution: 0,
    perf: { now: clock },
  })
  return {
    recall: (key) => entries.get(key),
    remember: (key, answer, ttlOverrideMs) => {
      const ttl = ttlOverrideMs ?? ttlMs
      if (ttl > 0 && answer.bytes <= entryBytesMax) entries.set(key, answer, { ttl })
    },
  }
}
