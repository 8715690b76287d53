import { LRUCache } from 'lru-cache'
import { cacheEntryBytesMax, type CachedAnswer } from '../core/repeats/cached-answer.ts'
import { piecesLength, type Pieces } from '../bytes/pieces.ts'
import { extractBuffers, restoreBuffers } from './result-bytes.ts'
import type { SharedCache } from './redis-cache/redis-cache.ts'

export type ResponseCache = ReturnType<typeof createResponseCache>

type Options = {
  bytesMax: number
  limits: () => { cacheTtlSeconds: number }
  shared?: SharedCache | undefined
  /** A monotonic clock, for the lifetime in this process. */
  monotonic: () => number
}
/** An answer; `stored` are the bytes of its result if they are large. */
type Entry = { answer: CachedAnswer; stored: StoredBytes | undefined; endsAt: number }

const bookkeepingBytes = 1024

/**
 * An LRU cache of answers in memory, bounded in bytes, in front of an optional shared cache. Keyv is not used
 * here because it awaits several times for each look-up (docs/performance.md#response-cache).
 */
export function createResponseCache(options: Options) {
  const { bytesMax, limits, shared, monotonic } = options
  const standardTtlMs = () => limits().cacheTtlSeconds * 1000
  const memory = createMemoryBlocks()
  const maxSize = Math.max(1, bytesMax)
  const entries = new LRUCache<string, Entry>({
    maxSize,
    dispose: ({ stored }) => stored && memory.release(stored),
  })
  const insert = (key: string, answer: CachedAnswer, endsAt: number) => {
    const pieces: Buffer[] = []
    const result = answer.bytes < blockBytes ? undefined : extractBuffers(answer.result, pieces)
    const isLarge = piecesLength(pieces) >= blockBytes
    const size = (isLarge ? storedSize(pieces) : answer.bytes) + bookkeepingBytes
    // The LRU cache would not release the bytes of an entry that it does not accept.
    if (size > maxSize) return void entries.delete(key)
    const entry: Entry = isLarge
      ? { answer: { ...answer, result }, stored: memory.store(pieces), endsAt }
      : { answer, stored: undefined, endsAt }
    entries.set(key, entry, { size })
  }
  const readFrom = (cache: SharedCache) => async (key: string) => {
    const entry = await cache.get(key)
    if (entry === undefined || entry.leftMs <= 0) return undefined
    // The process that wrote the entry may have other settings: the lifetime set here is the upper limit.
    const leftMs = Math.min(entry.leftMs, standardTtlMs())
    insert(key, entry.answer, monotonic() + leftMs)
    return entry.answer
  }
  return {
    /** Reads the cache of this process. */
    readCache: (key: string): CachedAnswer | undefined => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (entry.endsAt < monotonic()) return void entries.delete(key)
      const { answer, stored } = entry
      if (stored === undefined) return answer
      return { ...answer, result: restoreBuffers(answer.result, memory.read(stored)) }
    },
    /** Reads the shared cache; undefined if there is none. */
    readSharedCache: shared && readFrom(shared),
    /**
     * Stores an answer unless it is too large; `ttlOverrideMs` replaces the configured lifetime. Resolves with
     * whether the shared cache stored the answer; undefined if the answer was not sent to it.
     */
    writeCache: (key: string, answer: CachedAnswer, ttlOverrideMs: number | undefined) => {
      const ttlMs = ttlOverrideMs ?? standardTtlMs()
      if (ttlMs <= 0 || answer.bytes > cacheEntryBytesMax) return undefined
      insert(key, answer, monotonic() + ttlMs)
      return shared?.set(key, answer, ttlMs)
    },
  }
}

/** A block holds a piece of an answer; the last block of an answer is half empty on average. */
const blockBytes = 16 * 1024
const blocksPerSlab = 64

type StoredBytes = { length: number; blocks: readonly Buffer[] }

/** The memory that bytes take in blocks. */
function storedSize(pieces: Pieces): number {
  return Math.ceil(piecesLength(pieces) / blockBytes) * blockBytes
}

/**
 * Memory for bytes that live long. V8 frees such Buffers only when it marks its whole heap, and it does so each
 * time that 64 MiB were allocated; these blocks are allocated once and reused.
 */
function createMemoryBlocks() {
  const free: Buffer[] = []
  const nextBlock = (): Buffer => {
    if (free.length === 0) {
      const slab = Buffer.allocUnsafeSlow(blocksPerSlab * blockBytes)
      for (let at = 0; at < slab.length; at += blockBytes)
        free.push(slab.subarray(at, at + blockBytes))
    }
    return free.pop()!
  }
  return {
    store: (pieces: Pieces): StoredBytes => {
      const length = piecesLength(pieces)
      const blocks = Array.from({ length: storedSize(pieces) / blockBytes }, nextBlock)
      let at = 0
      for (const piece of pieces) {
        for (let from = 0; from < piece.length;) {
          const copied = piece.copy(blocks[Math.floor(at / blockBytes)]!, at % blockBytes, from)
          from += copied
          at += copied
        }
      }
      return { length, blocks }
    },
    /** A copy, since the blocks may be reused while an answer is being sent. */
    read: ({ length, blocks }: StoredBytes): Buffer => {
      const bytes = Buffer.allocUnsafeSlow(length)
      blocks.forEach((block, index) => block.copy(bytes, index * blockBytes))
      return bytes
    },
    release: ({ blocks }: StoredBytes): void => {
      for (const block of blocks) free.push(block)
    },
  }
}
