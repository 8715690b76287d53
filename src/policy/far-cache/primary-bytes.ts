import { LRUCache } from 'lru-cache'
import type { PrimaryLine } from '../../peers/primary-line.ts'
import { within } from '../../peers/within.ts'
import type { WorkerLines } from '../../peers/worker-lines.ts'
import type { FarBytes, FarRead } from './far-cache.ts'

type Question = { name: string; bytesMax: number }
type Write = { name: string; bytes: Uint8Array; ttlMs: number }
type Read = { bytes: Uint8Array; leftMs: number } | 'strange' | undefined

const [readTopic, writeTopic] = ['answers.read', 'answers.write']
const entryBytes = 1024

/** Bytes that the primary holds for its workers, as a worker reaches them. */
export function createPrimaryBytes(line: PrimaryLine, timeoutMs: () => number): FarBytes {
  return {
    read: async (name, bytesMax) => {
      const question: Question = { name, bytesMax }
      const read = (await within(timeoutMs(), line.ask(readTopic, question))) as Read
      if (read === undefined || read === 'strange') return read
      return { ...read, bytes: viewOf(read.bytes) } satisfies FarRead
    },
    write: async (name, bytes, ttlMs) => {
      line.tell(writeTopic, { name, bytes, ttlMs } satisfies Write)
    },
  }
}

type Options = {
  lines: Pick<WorkerLines, 'answer' | 'on'>
  bytesMax: number
  monotonic: () => number
}

/** What the primary holds, bounded in bytes: what was asked for least lately goes first. */
export function holdBytes({ lines, bytesMax, monotonic }: Options): void {
  const held = new LRUCache<string, { bytes: Uint8Array; endsAt: number }>({
    maxSize: Math.max(1, bytesMax),
    sizeCalculation: ({ bytes }) => bytes.byteLength + entryBytes,
  })
  lines.answer(readTopic, (question): Read => {
    const { name, bytesMax: most } = question as Question
    const found = held.get(name)
    const leftMs = found === undefined ? 0 : found.endsAt - monotonic()
    if (found === undefined || leftMs <= 0) {
      held.delete(name)
      return undefined
    }
    return found.bytes.byteLength > most ? 'strange' : { bytes: found.bytes, leftMs }
  })
  lines.on(writeTopic, (message) => {
    const { name, bytes, ttlMs } = message as Write
    held.set(name, { bytes, endsAt: monotonic() + ttlMs })
  })
}

/** Messages between processes are copied as arrays of bytes. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}
