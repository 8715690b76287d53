import { Keyv } from 'keyv'
import { LRUCache } from 'lru-cache'
import type { Remembered } from '../core/gateway.ts'

export type ResponseCache = {
  recall(key: string): Promise<Remembered | undefined>
  /** Keeps an answer, unless it is too large; `ttlMs` overrides how long. */
  remember(key: string, answer: Remembered, ttlMs: number | undefined): void
}

type Options = {
  bytesMax: number
  entryBytesMax: number
  ttlMs: number
  /** Told when the store fails; the call goes on without it. */
  onError: (error: unknown) => void
}

/** What Keyv stores for a value: its own envelope within that of its store for maps. */
type Entry = { value?: { value?: Remembered }; expires?: number | undefined }

const bookkeepingBytes = 1024

/** Remembered answers in memory, bounded in bytes; the least recently used go first. */
export function createResponseCache(options: Options): ResponseCache {
  const { bytesMax, entryBytesMax, ttlMs, onError } = options
  const keyv = new Keyv<Remembered>({
    store: boundedMap(bytesMax),
    // Answers are kept as they are: serialising a picture costs milliseconds.
    serialization: false,
  })
  keyv.on('error', onError)
  return {
    recall: (key) => keyv.get(key),
    remember: (key, answer, ttlOverrideMs) => {
      const ttl = ttlOverrideMs ?? ttlMs
      if (ttl <= 0 || answer.bytes > entryBytesMax) return
      keyv.set(key, answer, ttl).catch(onError)
    },
  }
}

/** The shape that Keyv wants of a map; lru-cache's own `set` takes other arguments. */
function boundedMap(bytesMax: number) {
  const entries = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ value }) => (value?.value?.bytes ?? 0) + bookkeepingBytes,
  })
  return {
    get: (key: string) => entries.get(key),
    set: (key: string, entry: Entry) => {
      entries.set(key, entry)
    },
    has: (key: string) => entries.has(key),
    delete: (key: string) => entries.delete(key),
    clear: () => entries.clear(),
  }
}
