/** Memory that many bytes were let go of in is collected at once. */
const bytesMost = 128 * 1024 * 1024
/** Less of it when nothing more comes. */
const bytesLeast = 8 * 1024 * 1024
const restMsDefault = 5000
/** Smaller pieces are left to V8, which sees them come and go. */
const pieceBytesMin = 65_536

/** Told of bytes that are let go of. */
export type Collection = (bytes: number) => void

/**
 * Has V8 collect what was let go of, since it does not: Buffers are outside of its heap, and large texts
 * let the heap grow to a multiple of what is alive (docs/performance.md#memory).
 */
export function collectAfter(
  collect: (isIdle: boolean) => void,
  restMs = restMsDefault,
): Collection {
  let sum = 0
  let timer: NodeJS.Timeout | undefined
  const run = (isIdle: boolean) => {
    sum = 0
    collect(isIdle)
  }
  return (bytes) => {
    if (bytes < pieceBytesMin) return
    sum += bytes
    if (sum >= bytesMost && sum - bytes < bytesMost) setImmediate(run, false)
    if (sum < bytesLeast && timer === undefined) return
    if (timer === undefined) timer = setTimeout(run, restMs, true).unref()
    else timer.refresh()
  }
}
