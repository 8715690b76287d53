import type { ServerResponse } from 'node:http'
import type { EventSink } from '../core/chat/chat.ts'

/** Copying more than this costs as much as what it saves. */
const framedBytesMax = 16_384
const hexDigits = Buffer.from('0123456789abcdef')
const [carriageReturn, lineFeed] = [0x0d, 0x0a]

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
      // The head goes out with the first event; a response whose turn has not come has no socket yet, and
      // one that Node holds back until the end of this turn (from Node 26 on) must not be overtaken.
      const framed =
        begun && socket !== null && response.chunkedEncoding && response.writableCorked === 0
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

/** Byte by byte: to print the length as a text takes longer than all the rest. */
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
