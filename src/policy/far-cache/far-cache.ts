import { Keyv, KeyvBridgeAdapter, type KeyvBridgeStore } from 'keyv'
import type { Circuit } from '../../core/resilience/circuit.ts'
import { cacheEntryBytesMax, type Remembered } from '../../core/recall/remembered.ts'
import type { Seal } from './seal.ts'

/** A cache outside of the process, where several find what one of them has made. */
export type FarCache = {
  /** Never rejects, and is answered in time: what is not known by then is a miss. */
  get(key: string): Promise<FarEntry | undefined>
  /** Whether it is there now; never rejects. Undefined when it is not taken. */
  set(key: string, answer: Remembered, ttlMs: number): Promise<boolean> | undefined
}
type FarEntry = {
  answer: Remembered
  /** How long it is still kept there, by the clock there: those of the processes may differ. */
  leftMs: number
}

/** Where the bytes are. Its size must be bounded there. */
export type FarBytes = {
  /** Undefined when there is nothing. Rejects when it cannot be asked, and when it is late. */
  read(name: string, bytesMax: number): Promise<FarRead>
  write(name: string, bytes: Buffer, ttlMs: number): Promise<void>
}
/** What lies under a name: `strange` is no bytes at all, or more of them than were asked for. */
type FarRead = { bytes: Buffer; leftMs: number } | 'strange' | undefined

/** What became of a question or of an answer to be kept there. */
type FarOutcome =
  | 'hit'
  | 'miss'
  /** It did not answer in time, or with an error. */
  | 'failed'
  /** It failed just now, and was not asked. */
  | 'passed'
  /** What was there is not ours. */
  | 'broken'
  | 'kept'
  | 'not_kept'

type Options = {
  bytes: FarBytes
  seal: Seal
  circuit: Circuit
  /** Before each name; other gateways in the same place have another one. */
  namespace: string
  /** Bytes of one answer. */
  entryBytesMax?: number
  /** Writes that wait, further ones are skipped. */
  writesMax?: number
  writtenBytesMax?: number
  onOutcome: (outcome: FarOutcome) => void
}

/** Pending writes are held in memory; beyond this an answer stays in this process. */
const writesStandardMax = 64
const writtenBytesStandardMax = 32 * 1024 * 1024
/** A head holds at most a hundred warnings of a thousand characters each, besides the text of the answer. */
const headBytesMax = 524_288

/**
 * A far cache through Keyv, over bytes that Keyv does not look into. One that is slow or fails is a
 * miss, never an error for the caller, and asks for no time-out of each.
 */
export function createFarCache(options: Options): FarCache {
  const { namespace, circuit, onOutcome } = options
  const { writesMax = writesStandardMax } = options
  const { writtenBytesMax = writtenBytesStandardMax } = options
  const keyv = new Keyv<FarEntry>({
    store: new KeyvBridgeAdapter(createBridge(options), { namespace }),
    serialization: false,
    checkExpired: false,
  })
  // Without a listener Keyv throws the errors of its store.
  keyv.on('error', () => circuit.failed())
  let writes = 0
  let writtenBytes = 0
  return {
    get: async (key) => {
      if (circuit.isOpen()) {
        onOutcome('passed')
        return undefined
      }
      circuit.began()
      return keyv.get(key)
    },
    set: (key, answer, ttlMs) => {
      const { bytes } = answer
      const isTooMuch = writes >= writesMax || writtenBytes + bytes > writtenBytesMax
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

/** What Keyv asks; it emits what this throws. */
function createBridge(options: Options): KeyvBridgeStore {
  const { bytes, seal, circuit, entryBytesMax = cacheEntryBytesMax, onOutcome } = options
  const unused = () => Promise.reject(new Error('The far cache forgets by itself.'))
  const sizeMax = entryBytesMax + headBytesMax
  const openRead = (name: string, read: FarRead): FarEntry | undefined => {
    if (read === undefined || read === 'strange') return undefined
    const answer = seal.open(name, inMemoryOfItsOwn(read.bytes))
    return answer && { answer, leftMs: read.leftMs }
  }
  return {
    get: async (name) => {
      let read: FarRead
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
    set: async (name, { value }: { value: FarEntry }) => {
      const sealed = seal.close(name, value.answer)
      if (sealed.length > sizeMax) return false
      // Redis may be full, or take no writes, and still be read.
      return bytes.write(name, sealed, value.leftMs).then(
        () => true,
        () => false,
      )
    },
    delete: unused,
    clear: unused,
  }
}

function outcomeOf(read: FarRead, entry: FarEntry | undefined): FarOutcome {
  if (entry !== undefined) return 'hit'
  return read === undefined ? 'miss' : 'broken'
}

/** A few bytes of a large buffer would keep all of it in memory for as long as they are remembered. */
function inMemoryOfItsOwn(bytes: Buffer): Buffer {
  if (bytes.length * 2 >= bytes.buffer.byteLength) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
