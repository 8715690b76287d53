import { joinPieces } from '../../bytes/pieces.ts'
import type { ProviderFailure } from '../../core/failure.ts'

/** Decides when received pieces of a stream are forwarded to the caller. */
export type Coalescing = ReturnType<typeof coalesceStreams>

type Options = {
  /** How long a piece may wait, in milliseconds; 0 disables batching. */
  intervalMs: number
  bytesMax: number
  /** Pieces wait only if at least this many streams are open. */
  streamsMin: number
}

/**
 * Batches pieces of many streams. Forwarding each piece alone costs a system call and cold code,
 * which is most of a stream's CPU time. With few open streams pieces do not wait
 * (docs/performance.md#event-streams).
 */
export function coalesceStreams({ intervalMs, bytesMax, streamsMin }: Options) {
  let streams = 0
  let waiting: (() => void)[] = []
  const flushAll = () => {
    const due = waiting
    waiting = []
    for (const flush of due) flush()
  }
  return {
    /** Maximum of waiting bytes per stream. */
    bytesMax,
    opened: () => {
      streams += 1
    },
    closed: () => {
      streams -= 1
    },
    /** Runs `flush` once: in a microtask, or batched with other streams. */
    next: (flush: () => void) => {
      if (intervalMs === 0 || streams < streamsMin) queueMicrotask(flush)
      else if (waiting.push(flush) === 1) setTimeout(flushAll, intervalMs)
    },
  }
}

/** How an answer ended. */
export type Ending = 'end' | ProviderFailure

/** Buffers the pieces of an answer until a listener is set and `coalescing` flushes them. */
export function passPieces(coalescing: Coalescing) {
  coalescing.opened()
  let waiting: Buffer[] | undefined
  let bytes = 0
  let ending: Ending | undefined
  let listener: ((piece: Buffer) => void) | undefined
  let onEnding: (how: Ending) => void
  // Joins the pieces of a burst: hundreds may arrive in one turn of the event loop.
  const flush = () => {
    if (listener === undefined) return
    if (waiting !== undefined) {
      const piece = joinPieces(waiting)
      waiting = undefined
      bytes = 0
      listener(piece)
    }
    if (ending !== undefined) onEnding(ending)
  }
  const each = (onPiece: (piece: Buffer) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      listener = onPiece
      onEnding = (how) => (how === 'end' ? resolve() : reject(how))
      flush()
    })
  return {
    peek: () => waiting?.[0],
    each,
    isOver: () => ending !== undefined,
    push: (piece: Buffer): 'first' | 'further' => {
      bytes += piece.length
      if (waiting !== undefined) {
        waiting.push(piece)
        if (bytes > coalescing.bytesMax) flush()
        return 'further'
      }
      // A literal, since V8 allocates seventeen slots when `push` is called on an empty array.
      waiting = [piece]
      if (listener === undefined) return 'first'
      coalescing.next(flush)
      return 'further'
    },
    finish: (how: Ending) => {
      ending = how
      coalescing.closed()
      // The end waits for the scheduled flush of the last pieces; a failure is reported at once.
      if (how !== 'end' || waiting === undefined) flush()
    },
  }
}
