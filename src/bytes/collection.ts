/** The memory of the process is looked at each time so many bytes were given back. */
const lookedAfterBytes = 32 * 1024 * 1024
/** Fewer bytes that V8 has not collected are not worth the pause of a collection. */
const garbageBytesMin = 64 * 1024 * 1024
/** Fewer bytes given back before a rest are left to V8. */
const burstBytesMin = 8 * 1024 * 1024
const restMsDefault = 5000
/** Smaller pieces are left to V8, which sees them come and go. */
const pieceBytesMin = 65_536

/** Why a collection is forced: memory is short, or the process has come to rest after a burst. */
export type CollectionCause = 'memory' | 'rest'

export type Collector = {
  /** Collects the whole heap; at `rest` thoroughly, so that the system gets memory back. */
  collect: (cause: CollectionCause) => void
  /** Bytes of the process that are resident, and those that V8 has allocated or holds for Buffers. */
  memory: () => { residentBytes: number; allocatedBytes: number }
}

type Options = {
  /** Resident memory up to which V8 collects as it decides. */
  residentBytesMax: number
  /** Milliseconds without bytes given back after which a burst is over. */
  restMs?: number
}

/**
 * Returns a function to call with each number of bytes that requests give back. It forces V8 to collect
 * when the process has more than `residentBytesMax` of memory and garbage in it, since V8 sees neither
 * Buffers nor how fast large texts come and go; and once after a burst. Traffic that stays below the
 * bound is never interrupted (docs/performance.md#memory).
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
    // Memory that allocations of C have split up stays resident; a collection frees none of it.
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
