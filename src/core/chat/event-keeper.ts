import type { EventSink } from './chat.ts'

type KeptEvents = {
  /** Keeps what is written to it and passes it on. */
  sink: EventSink
  /** The events that were kept. */
  events(): Buffer
  /** Whether all events were kept, within `cacheBytesMax`. */
  complete(): boolean
}

/** What is kept for the cache, 0 for nothing, and what is kept to estimate the answer's tokens. */
type Limits = { cacheBytesMax: number; estimateBytesMax: number }

const slabBytes = 8192

/**
 * Keeps the events that pass, for the cache and for token estimates. They are copied into slabs,
 * since hundreds of small buffers that live as long as a stream burden the garbage collector.
 */
export function keepEvents(
  sink: EventSink,
  { cacheBytesMax, estimateBytesMax }: Limits,
): KeptEvents {
  const bytesMax = Math.max(cacheBytesMax, estimateBytesMax)
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
    complete: () => bytes <= cacheBytesMax,
    sink: {
      onDrain: sink.onDrain,
      write: (piece) => {
        bytes += piece.length
        if (bytes <= bytesMax) keep(piece)
        return sink.write(piece)
      },
    },
  }
}
