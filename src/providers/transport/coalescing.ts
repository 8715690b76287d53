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
