import type { Pipe } from './pipe.ts'

/** What one process writes to another: a question, what comes of it, or a message. */
export type LineEntry =
  | readonly ['ask', id: number, topic: string, question: unknown]
  | readonly ['answer', id: number, answer: unknown]
  | readonly ['refusal', id: number, text: string]
  | readonly ['tell', topic: string, message: unknown]

/** One message between processes: what was written in one turn of the event loop. */
export type LineGroup = { line: readonly LineEntry[] }

/** Why an entry was not taken. */
export type NotTaken = 'too_large' | 'too_many'

type Options = {
  pipe: Pipe
  /** Size of one entry. */
  messageBytesMax: number
  /** What was written could not be sent. */
  onUnsent: (entries: readonly LineEntry[], error: Error) => void
}

/** So many messages of the greatest size may wait until the other process reads. */
const unsentMessagesMax = 4

/** Writes to another process; what is written in one turn of the event loop is one message. */
export function createOutbox({ pipe, messageBytesMax, onUnsent }: Options) {
  let group: LineEntry[] = []
  let groupBytes = 0
  let unsentBytes = 0
  const flush = (): void => {
    const [entries, bytes] = [group, groupBytes]
    group = []
    groupBytes = 0
    const sent = (error: Error | null): void => {
      unsentBytes -= bytes
      if (error !== null) onUnsent(entries, error)
    }
    try {
      pipe.send({ line: entries } satisfies LineGroup, sent)
    } catch (error) {
      // What cannot be copied throws: its writer is told, and those it shares the message with.
      sent(error as Error)
    }
  }
  return {
    /** Says why it did not take the entry; undefined when it did. */
    write: (entry: LineEntry): NotTaken | undefined => {
      const bytes = bytesOf(entry)
      if (bytes > messageBytesMax) return 'too_large'
      if (unsentBytes + bytes > unsentMessagesMax * messageBytesMax) return 'too_many'
      unsentBytes += bytes
      groupBytes += bytes
      if (group.push(entry) === 1) setImmediate(flush)
      return undefined
    },
  }
}

/** Numbers, and what else has no length of its own. */
const smallBytes = 8

/** What a value takes in a message, as far as texts and bytes go. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length + smallBytes
  if (typeof value !== 'object' || value === null) return smallBytes
  if (ArrayBuffer.isView(value)) return value.byteLength + smallBytes
  let bytes = smallBytes
  if (Array.isArray(value)) for (const one of value) bytes += bytesOf(one)
  else if (value instanceof Map) for (const one of value) bytes += bytesOf(one)
  else for (const name in value) bytes += bytesOf((value as Record<string, unknown>)[name])
  return bytes
}
