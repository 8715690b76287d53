import type { ServerResponse } from 'node:http'
import type { EventSink } from '../core/chat.ts'

/** Copying more than this costs as much as what it saves. */
const framedBytesMax = 16_384
const lineEnd = '\r\n'

/**
 * Writes events to a response whose head is written. Node frames each of them as four buffers (RFC 9112
 * section 7.1); framed into one here, a stream of small events takes a tenth less of the processor.
 */
export function eventWriter(response: ServerResponse): EventSink & { begun(): boolean } {
  let begun = false
  return {
    begun: () => begun,
    write: (piece) => {
      if (response.destroyed) return true
      const { socket } = response
      // The head goes out with the first event; a response whose turn has not come has no socket yet.
      const framed = begun && socket !== null && response.chunkedEncoding
      begun = true
      // A frame without bytes would end the stream.
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

function frameOf(piece: Buffer): Buffer {
  const size = piece.length.toString(16)
  const frame = Buffer.allocUnsafe(size.length + piece.length + 2 * lineEnd.length)
  frame.write(size + lineEnd, 'latin1')
  frame.set(piece, size.length + lineEnd.length)
  frame.write(lineEnd, frame.length - lineEnd.length, 'latin1')
  return frame
}
