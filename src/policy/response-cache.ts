import { LRUCache } from 'lru-cache'
import type { Remembered } from '../core/recall/remembered.ts'

export type ResponseCache = {
  recall(key: string): Remembered | undefined
  /** Keeps an answer, unless it is too large; `ttlMs` overrides how long. */
  remember(key: string, answer: Remembered, ttlMs: number | undefined): void
}

type Options = { bytesMax: number; entryBytesMax: number; ttlMs: number; clock: () => number }

type Entry = { answer: Remembered; endsAt: number }

const bookkeepingBytes = 1024

/**
 * Remembered answers in memory, bounded in bytes; the least recently used go first. Without Keyv
 * around it, which costs more than the look-up (performance.md section 10).
 */
export function createResponseCache(options: Options): ResponseCache {
  const { bytesMax, entryBytesMax, ttlMs, clock } = options
  const entries = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ answer }) => answer.bytes + bookkeepingBytes,
  })
  return {
    recall: (key) => {
      const entry = entries.get(key)
      if (entry === undefined || entry.endsAt >= clock()) return entry?.answer
      entries.delete(key)
      return undefined
    },
    remember: (key, answer, ttlOverrideMs) => {
      const ttl = ttlOverrideMs ?? ttlMs
      if (ttl <= 0 || answer.bytes > entryBytesMax) return
      entries.set(key, { answer, endsAt: clock() + ttl })
    },
  }
}
