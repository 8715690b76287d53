/** Decides when the received pieces of a stream are passed on to the caller. */
export type Coalescing = {
  /** How many bytes of one stream may wait. */
  bytesMax: number
  /** Counts one more open stream. */
  opened(): void
  /** Counts one less. */
  closed(): void
  /** Runs `flush` once: in a microtask, or batched with those of other streams. */
  next(flush: () => void): void
}

type Options = {
  /** How long a piece may wait, in milliseconds; 0 disables waiting. */
  intervalMs?: number | undefined
  bytesMax?: number | undefined
  /** From this many open streams on pieces wait. */
  streamsMin?: number | undefined
}

/** Invisible to a reader, and long enough for many streams to share a flush. */
const intervalStandardMs = 10
/** Above this size, waiting saves nothing: the write itself dominates. */
const bytesStandardMax = 65_536
/** With fewer streams there is CPU to spare (docs/performance.md#event-streams). */
const streamsStandardMin = 32

/**
 * Batches the pieces of many streams: a piece by itself costs a system call and cold code, most of
 * the CPU time of a stream. With few streams there is CPU to spare, and nothing waits
 * (docs/performance.md#event-streams).
 */
export function coalesceStreams({
  intervalMs = intervalStandardMs,
  bytesMax = bytesStandardMax,
  streamsMin = streamsStandardMin,
}: Options): Coalescing {
  let streams = 0
  let waiting: (() => void)[] = []
  const flushAll = () => {
    const due = waiting
    waiting = []
    for (const flush of due) flush()
  }
  return {
    bytesMax,
    opened: () => {
      streams += 1
    },
    closed: () => {
      streams -= 1
    },
    next: (flush) => {
      if (intervalMs === 0 || streams < streamsMin) queueMicrotask(flush)
      else if (waiting.push(flush) === 1) setTimeout(flushAll, intervalMs)
    },
  }
}
