import type { ServerResponse } from 'node:http'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { EventSink } from '../core/chat/chat.ts'
import { readerOf } from './connection-table.ts'

/** Maximum size of events framed here: for larger events the copy costs as much as the saved system call. */
const framedBytesMax = 16_384
const hexDigits = Buffer.from('0123456789abcdef')
const [carriageReturn, lineFeed] = [0x0d, 0x0a]

type EventWriter = EventSink & {
  /** Whether any event was written. */
  hasBegun(): boolean
  /** Called after the last write. */
  over(): void
}

/**
 * Writes events to a response. Chunked framing (RFC 9112 section 7.1) is done here: Node makes four
 * buffers of each chunk, and one buffer saves a tenth of the CPU time of a stream of small events
 * (docs/performance.md#event-streams). Unread bytes count as memory of the request.
 */
export function eventWriter(response: ServerResponse, memory: MemoryHold): EventWriter {
  let hasBegun = false
  // Also called when the client disconnects: a stream that continues must not wait for the client.
  const onDrain: EventSink['onDrain'] = (listener) => {
    const { socket } = response
    const full = socket?.writableNeedDrain ? socket : response
    const onReady = () => {
      full.off('drain', onReady)
      response.off('close', onReady)
      listener()
    }
    full.once('drain', onReady)
    response.once('close', onReady)
  }
  let unread = 0
  let unwatch: (() => void) | undefined
  const read = () => {
    unwatch?.()
    unwatch = undefined
    memory.give(unread)
    unread = 0
  }
  const countUnread = (bytes: number) => {
    unread += bytes
    memory.grow(bytes)
    if (unwatch !== undefined) return
    unwatch = memory.watch(readerOf(response))
    onDrain(read)
  }
  const took = (isWritable: boolean, { length }: Buffer): boolean => {
    if (!isWritable) countUnread(length)
    return isWritable
  }
  return {
    hasBegun: () => hasBegun,
    over: read,
    write: (piece) => {
      if (response.destroyed) return true
      const { socket } = response
      // The first event is written by Node, together with the head. A pipelined response has no
      // socket before its turn. Output that Node has corked (from version 26 on, until the end of
      // the tick) must be sent first.
      const framed =
        hasBegun && socket !== null && response.chunkedEncoding && response.writableCorked === 0
      hasBegun = true
      // An empty chunk would end the stream.
      if (!framed || piece.length === 0 || piece.length > framedBytesMax) {
        return took(response.write(piece), piece)
      }
      return took(socket.write(frameOf(piece)), piece)
    },
    onDrain,
  }
}

/** One chunk. Its length is formatted by hand, since `toString(16)` costs more than the rest. */
function frameOf(piece: Buffer): Buffer {
  const { length } = piece
  const digits = Math.ceil((32 - Math.clz32(length)) / 4)
  const frame = Buffer.allocUnsafe(digits + length + 4)
  for (let at = digits, rest = length; at > 0; rest >>>= 4) frame[--at] = hexDigits[rest & 0xf]!
  frame[digits] = carriageReturn
  frame[digits + 1] = lineFeed
  frame.set(piece, digits + 2)
  frame[digits + length + 2] = carriageReturn
  frame[digits + length + 3] = lineFeed
  return frame
}
