import type { ServerResponse } from 'node:http'
import type { EventSink } from '../core/chat/chat.ts'

/** Copying a larger event costs as much as the single write saves. */
const framedBytesMax = 16_384
const hexDigits = Buffer.from('0123456789abcdef')
const [carriageReturn, lineFeed] = [0x0d, 0x0a]

/**
 * Writes events to a response whose head is written. Chunked framing (RFC 9112 section 7.1) is done
 * here: Node makes four buffers of each chunk, and one buffer saves a tenth of the CPU time of a
 * stream of small events (docs/performance.md#event-streams). `begun`: whether any was written.
 */
export function eventWriter(response: ServerResponse): EventSink & { begun(): boolean } {
  let begun = false
  return {
    begun: () => begun,
    write: (piece) => {
      if (response.destroyed) return true
      const { socket } = response
      // The head goes out with the first event, through Node. A pipelined response has no socket
      // until its turn. What Node corks (from 26 on, until the end of the tick) must go out first.
      const framed =
        begun && socket !== null && response.chunkedEncoding && response.writableCorked === 0
      begun = true
      // A chunk without bytes would end the stream.
      if (!framed || piece.length === 0 || piece.length > framedBytesMax) {
        return response.write(piece)
      }
      return socket.write(frameOf(piece))
    },
    onDrain: (listener) => {
      const { socket } = response
      if (socket?.writableNeedDrain) socket.once('drain', listener)
      else response.once('drain', listener)
    },
  }
}

/** One chunk. Its length is written by hand, since `toString(16)` costs more than the rest. */
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
