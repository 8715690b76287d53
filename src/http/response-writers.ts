import type { ServerResponse } from 'node:http'
import type { Peer } from '../bytes/books.ts'
import type { Hold } from '../bytes/budget.ts'
import type { EventSink } from '../core/chat/chat.ts'

/** Larger buffers go out in parts: a socket counts what its client has taken by whole writes. */
export const partBytesMax = 65_536

type PartWriter = {
  /** Writes a buffer, or queues what the client has to make room for. False when something is queued. */
  write(piece: Buffer): boolean
  /** Ends the response after the queue. */
  end(): void
  queuedBytes(): number
}

/** Writes large buffers to a response whose head is written, each part when the one before was taken. */
export function partWriter(response: ServerResponse): PartWriter {
  const parts: Buffer[] = []
  let isPaused = false
  let isEnding = false
  const writeParts = () => {
    isPaused = false
    while (parts.length > 0 && !isPaused) {
      const part = parts.shift()!
      if (isEnding && parts.length === 0) response.end(part)
      else isPaused = !response.write(part)
    }
    if (isPaused) response.once('drain', writeParts)
  }
  return {
    write: (piece) => {
      for (let at = 0; at < piece.length; at += partBytesMax) {
        parts.push(piece.subarray(at, at + partBytesMax))
      }
      if (!isPaused) writeParts()
      return !isPaused
    },
    end: () => {
      isEnding = true
      if (parts.length === 0) response.end()
    },
    queuedBytes: () => parts.reduce((sum, { length }) => sum + length, 0),
  }
}

/** The client of an answer. It is cut off like one that leaves. */
export function readerOf(response: ServerResponse): Peer {
  return {
    moved: () => {
      const { socket } = response
      return socket === null ? 0 : socket.bytesWritten - socket.writableLength
    },
    cut: () => void response.destroy(),
  }
}

type EventWriter = EventSink & {
  /** Whether an event was written. */
  begun(): boolean
  /** Writes the last events and ends the response. Returns the bytes that are queued. */
  end(last: Buffer | undefined): number
}

/** Copying a larger event costs as much as the single write saves. */
const framedBytesMax = 16_384

/**
 * Writes events to a response whose head is written. Chunked framing (RFC 9112 section 7.1) is done
 * here: Node makes four buffers of each chunk, and one buffer saves a tenth of the CPU time of a
 * stream of small events (docs/performance.md#event-streams). What the client has not read is held.
 */
export function eventWriter(response: ServerResponse, hold: Hold): EventWriter {
  let begun = false
  let parts: PartWriter | undefined
  const isQueued = () => parts !== undefined && parts.queuedBytes() > 0
  // Also when the client leaves: a stream that continues without it must not wait for it.
  const onDrain: EventSink['onDrain'] = (listener) => {
    const { socket } = response
    const full = socket?.writableNeedDrain ? socket : response
    const resume = () => {
      if (isQueued() && !response.destroyed) return
      full.off('drain', resume)
      response.off('close', resume)
      listener()
    }
    full.on('drain', resume)
    response.once('close', resume)
  }
  let unread = 0
  let unwatch: (() => void) | undefined
  const read = () => {
    unwatch?.()
    unwatch = undefined
    hold.give(unread)
    unread = 0
  }
  const holdUnread = (bytes: number) => {
    unread += bytes
    hold.grow(bytes)
    if (unwatch !== undefined) return
    unwatch = hold.watch(readerOf(response))
    onDrain(read)
  }
  const took = (goesOn: boolean, { length }: Buffer): boolean => {
    if (!goesOn) holdUnread(length)
    return goesOn
  }
  const writeInParts = (piece: Buffer): boolean => (parts ??= partWriter(response)).write(piece)
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
      if (piece.length > partBytesMax || isQueued()) return took(writeInParts(piece), piece)
      // A chunk without bytes would end the stream.
      if (!framed || piece.length === 0 || piece.length > framedBytesMax) {
        return took(response.write(piece), piece)
      }
      return took(socket.write(frameOf(piece)), piece)
    },
    onDrain,
    end: (last) => {
      const isLarge = last !== undefined && last.length > partBytesMax
      if (response.destroyed) response.end()
      else if (isLarge || isQueued()) {
        if (last !== undefined) writeInParts(last)
        parts?.end()
      } else response.end(last)
      read()
      return parts?.queuedBytes() ?? 0
    },
  }
}

const hexDigits = Buffer.from('0123456789abcdef')
const [carriageReturn, lineFeed] = [0x0d, 0x0a]

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
