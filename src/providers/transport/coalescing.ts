/** Decides when what has arrived of a stream goes on to the caller. */
export type Coalescing = {
  /** How many bytes of one stream may wait. */
  bytesMax: number
  /** Counts a stream in. */
  opened(): void
  /** Counts it out. */
  closed(): void
  /** Runs `flush` once: behind this turn, or together with those of other streams. */
  next(flush: () => void): void
}

type Options = {
  /** How long a part may wait, in milliseconds; 0 for not at all. */
  intervalMs: number
  bytesMax: number
  /** How many streams at once make it worth the wait. */
  streamsMin: number
}

/**
 * Lets the parts of many streams wait for each other. A part by itself costs a system call and cold
 * code, which is most of what a stream takes of the processor; few streams have the processor to spare,
 * and none of theirs waits.
 */
export function coalesceStreams({ intervalMs, bytesMax, streamsMin }: Options): Coalescing {
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
