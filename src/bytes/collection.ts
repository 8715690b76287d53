/** Memory that many bytes were let go of in is collected at once. */
const bytesMost = 128 * 1024 * 1024
/** Less of it when nothing more comes. */
const bytesLeast = 8 * 1024 * 1024
const restMsDefault = 5000
/** Smaller pieces are left to V8, which sees them come and go. */
const pieceBytesMin = 65_536

/** What collects garbage. */
export type Collector = {
  collect: (isIdle: boolean) => void
  /** Has a function called when the whole heap was collected, whoever asked for it. */
  onCollected: (listener: () => void) => void
}

/** Told of bytes that are let go of. */
export type Collection = (bytes: number) => void

/**
 * Has V8 collect what was let go of, since it does not: Buffers are outside of its heap, and large texts
 * let the heap grow to a multiple of what is alive (docs/performance.md#memory).
 */
export function collectAfter(
  { collect, onCollected }: Collector,
  restMs = restMsDefault,
): Collection {
  // V8 may have collected it meanwhile, but keeps what only a thorough collection gives back.
  let uncollected = 0
  let sinceRest = 0
  let timer: NodeJS.Timeout | undefined
  const run = (isIdle: boolean) => {
    uncollected = 0
    if (isIdle) {
      sinceRest = 0
      timer = undefined
    }
    collect(isIdle)
  }
  onCollected(() => (uncollected = 0))
  return (bytes) => {
    if (bytes < pieceBytesMin) return
    uncollected += bytes
    sinceRest += bytes
    if (uncollected >= bytesMost && uncollected - bytes < bytesMost) setImmediate(run, false)
    if (sinceRest < bytesLeast && timer === undefined) return
    if (timer === undefined) timer = setTimeout(run, restMs, true).unref()
    else timer.refresh()
  }
}
