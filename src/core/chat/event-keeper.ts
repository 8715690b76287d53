import type { EventSink } from './chat.ts'

export type KeptEvents = {
  /** Passes on what is written to it. */
  sink: EventSink
  /** What has passed, up to the bound. */
  events(): Buffer
  /** Whether that is all of it. */
  complete(): boolean
}

/** Enough to estimate an answer's tokens by, also when nothing is to be remembered. */
const bytesKeptMin = 1_048_576
const slabBytes = 8192

/**
 * Keeps what passes, for the cache and for counting. Copied into slabs: hundreds of small buffers that
 * live as long as a stream are what garbage collection spends its time on.
 */
export function keepEvents(sink: EventSink, bytesMax: number): KeptEvents {
  const bound = Math.max(bytesMax, bytesKeptMin)
  const full: Buffer[] = []
  let slab = Buffer.alloc(0)
  let used = 0
  let bytes = 0

  const keep = (piece: Buffer) => {
    if (used + piece.length > slab.length) {
      if (used > 0) full.push(slab.subarray(0, used))
      slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, piece.length))
      used = 0
    }
    slab.set(piece, used)
    used += piece.length
  }

  return {
    events: () => Buffer.concat([...full, slab.subarray(0, used)]),
    complete: () => bytes <= bytesMax,
    sink: {
      onDrain: sink.onDrain,
      write: (piece) => {
        bytes += piece.length
        if (bytes <= bound) keep(piece)
        return sink.write(piece)
      },
    },
  }
}
