import { Keyv, KeyvBridgeAdapter, type KeyvBridgeStore } from 'keyv'
import type { Circuit } from '../../core/resilience/circuit.ts'
import { cacheEntryBytesMax, type CachedAnswer } from '../../core/repeats/cached-answer.ts'
import type { Seal } from './seal.ts'

type SharedCacheEntry = {
  answer: CachedAnswer
  /** The remaining lifetime by the clock of the cache: clocks of the processes may differ. */
  leftMs: number
}

/** The store of the bytes, which must limit its own size. */
export type SharedCacheBytes = {
  /** Undefined if the entry is missing. Rejects on an error or a timeout. */
  read(name: string, bytesMax: number): Promise<SharedCacheRead>
  write(name: string, bytes: Buffer, ttlMs: number): Promise<void>
}
/** The content of an entry. `unusable`: the value is not a string, or is longer than `bytesMax`. */
type SharedCacheRead = { bytes: Buffer; leftMs: number } | 'unusable' | undefined

/** The outcome of a read or of a write. */
type SharedCacheOutcome =
  | 'hit'
  | 'miss'
  /** The read timed out or failed. */
  | 'failed'
  /** The circuit is open: the cache was not asked. */
  | 'passed'
  /** The content was not written by this gateway. */
  | 'broken'
  | 'kept'
  | 'not_kept'

type Options = {
  bytes: SharedCacheBytes
  seal: Seal
  circuit: Circuit
  /** Prefix of each key; each gateway in the same store has a different prefix. */
  namespace: string
  /** The most pending writes; further writes are skipped. */
  limits: () => { sharedCacheWritesMax: number; sharedCacheWrittenBytesMax: number }
  onOutcome: (outcome: SharedCacheOutcome) => void
}

/** A head has at most a hundred warnings of a thousand characters each, besides the text of the answer. */
const headBytesMax = 524_288

/** A cache outside of the process, which several processes share. */
export type SharedCache = ReturnType<typeof createSharedCache>

/**
 * A shared cache through Keyv, which treats the values as opaque. If it is slow or fails, the result is a
 * miss and never an error for the client; the circuit breaker avoids a timeout for each call.
 */
export function createSharedCache(options: Options) {
  const { namespace, circuit, limits, onOutcome } = options
  const keyv = new Keyv<SharedCacheEntry>({
    store: new KeyvBridgeAdapter(createBridge(options), { namespace }),
    serialization: false,
    checkExpired: false,
  })
  // Without a listener Keyv throws the errors of its store.
  keyv.on('error', () => circuit.failed())
  let writes = 0
  let writtenBytes = 0
  return {
    /** Never rejects. An error or a timeout counts as a miss. */
    get: async (key: string) => {
      if (circuit.isOpen()) {
        onOutcome('passed')
        return undefined
      }
      circuit.began()
      return keyv.get(key)
    },
    /** Resolves with whether the answer was stored; never rejects. Undefined if no write was tried. */
    set: (key: string, answer: CachedAnswer, ttlMs: number) => {
      const { bytes } = answer
      const { sharedCacheWritesMax: writesMax, sharedCacheWrittenBytesMax: bytesMax } = limits()
      const isTooMuch = writes >= writesMax || writtenBytes + bytes > bytesMax
      if (isTooMuch || circuit.view().state !== 'closed') {
        onOutcome('not_kept')
        return undefined
      }
      writes++
      writtenBytes += bytes
      return keyv
        .set(key, { answer, leftMs: ttlMs }, ttlMs)
        .catch(() => false)
        .then((isKept) => {
          writes--
          writtenBytes -= bytes
          onOutcome(isKept ? 'kept' : 'not_kept')
          return isKept
        })
    },
  }
}

/** The storage adapter of Keyv, which emits the errors that it throws. */
function createBridge(options: Options): KeyvBridgeStore {
  const { bytes, seal, circuit, onOutcome } = options
  const unused = () => Promise.reject(new Error('The shared cache expires entries by itself.'))
  const sizeMax = cacheEntryBytesMax + headBytesMax
  const openRead = (name: string, read: SharedCacheRead): SharedCacheEntry | undefined => {
    if (read === undefined || read === 'unusable') return undefined
    const answer = seal.open(name, inMemoryOfItsOwn(read.bytes))
    return answer && { answer, leftMs: read.leftMs }
  }
  return {
    get: async (name) => {
      let read: SharedCacheRead
      try {
        read = await bytes.read(name, sizeMax)
      } catch (error) {
        onOutcome('failed')
        throw error
      }
      circuit.succeeded()
      const entry = openRead(name, read)
      onOutcome(outcomeOf(read, entry))
      return entry && { value: entry }
    },
    set: async (name, { value }: { value: SharedCacheEntry }) => {
      const sealed = seal.close(name, value.answer)
      if (sealed.length > sizeMax) return false
      // A failed write does not open the circuit, since a full or read-only Redis can still be read.
      return bytes.write(name, sealed, value.leftMs).then(
        () => true,
        () => false,
      )
    },
    delete: unused,
    clear: unused,
  }
}

function outcomeOf(read: SharedCacheRead, entry: SharedCacheEntry | undefined): SharedCacheOutcome {
  if (entry !== undefined) return 'hit'
  return read === undefined ? 'miss' : 'broken'
}

/** A small slice of a large buffer would keep the whole buffer in memory while the answer is cached. */
function inMemoryOfItsOwn(bytes: Buffer): Buffer {
  if (bytes.length * 2 >= bytes.buffer.byteLength) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
