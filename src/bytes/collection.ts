/** The memory of the process is checked each time this many bytes became garbage. */
const lookedAfterBytes = 32 * 1024 * 1024
/** No collection is forced for less garbage, since the pause would not be worth it. */
const garbageBytesMin = 64 * 1024 * 1024
/** After a burst that released fewer bytes no collection is forced. */
const burstBytesMin = 8 * 1024 * 1024
/**
 * Longer than most pauses between calls: a collection without requests in progress discards the hidden classes of
 * their objects, and V8 then discards the optimized code (docs/performance.md#memory).
 */
const restMsDefault = 20_000
/** Smaller amounts are not counted: V8 tracks such allocations well. */
const pieceBytesMin = 65_536

/** Why a collection is forced: memory is short, or a burst has ended. */
export type CollectionCause = 'memory' | 'rest'

export type Collector = {
  /** Collects the whole heap; for `rest` in a way that returns memory to the operating system. */
  collect: (cause: CollectionCause) => void
  /** Resident bytes of the process, and bytes in V8's heap and in Buffers. */
  memory: () => { residentBytes: number; allocatedBytes: number }
}

type Options = {
  /** No collection is forced below this resident memory. */
  residentBytesMax: number
  /** Milliseconds without a release after which a burst has ended. */
  restMs?: number
}

/**
 * Returns a function to call with the bytes that a request releases or has copied. It forces a collection when the
 * process has garbage and more than `residentBytesMax` of memory, since V8 collects large texts and Buffers
 * too late; and once after a burst. Traffic below the limit is never interrupted
 * (docs/performance.md#memory).
 */
export function collectNear(
  { collect, memory }: Collector,
  { residentBytesMax, restMs = restMsDefault }: Options,
): (bytes: number) => void {
  let sinceLook = 0
  let sinceRest = 0
  let leftBytes = 0
  let timer: NodeJS.Timeout | undefined
  const run = (cause: CollectionCause) => {
    collect(cause)
    leftBytes = memory().allocatedBytes
  }
  const look = () => {
    const { residentBytes, allocatedBytes } = memory()
    leftBytes = Math.min(leftBytes, allocatedBytes)
    // Garbage is counted in allocated bytes: a collection does not free fragmented resident memory.
    const isGarbage = allocatedBytes - leftBytes >= garbageBytesMin
    if (residentBytes > residentBytesMax && isGarbage) run('memory')
  }
  const rest = () => {
    timer = undefined
    sinceRest = 0
    run('rest')
  }
  return (bytes) => {
    if (bytes < pieceBytesMin) return
    sinceLook += bytes
    sinceRest += bytes
    if (sinceLook >= lookedAfterBytes) {
      sinceLook = 0
      setImmediate(look)
    }
    if (timer !== undefined) timer.refresh()
    else if (sinceRest >= burstBytesMin) timer = setTimeout(rest, restMs).unref()
  }
}
