import type { EventSink } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { noMemory } from '../transport/answer-memory.ts'
import type { OpenAnswer, UpstreamHead } from '../transport/upstream.ts'

/** Converts pieces of an answer to events; undefined if no event is complete. `push` and `end` may throw. */
export type EventReader = {
  push(piece: Buffer): Buffer | undefined
  /** The last events; called at the end of the answer. */
  end(): Buffer | undefined
}

/**
 * Reads an answer as events, and resolves at the first; it is paused until `listen` is called. Rejects with a
 * ProviderFailure if the answer has no event, or with the reader's error. `ended` rejects with a ProviderFailure if
 * the answer breaks off or reports an error.
 */
export async function startEvents(answer: OpenAnswer, reader: EventReader) {
  const { memory } = answer
  const waiting: Buffer[] = []
  /** Bytes of an incomplete event. */
  let carried = 0
  const carry = (bytes: number) => {
    const refusal = bytes === 0 ? undefined : memory.takeMore(bytes)
    if (refusal !== undefined) throw noMemory()
    carried += bytes
  }
  const drop = () => {
    memory.give(carried)
    carried = 0
  }
  const opened = Promise.withResolvers<void>()
  let failure: unknown
  let hand = (events: Buffer) => {
    waiting.push(events)
    answer.pause()
    opened.resolve()
  }
  const handOn = (piece?: Buffer) => {
    if (failure !== undefined) return
    try {
      const handed = piece === undefined ? reader.end() : reader.push(piece)
      if (handed === undefined) return carry(piece?.length ?? 0)
      if (carried > 0) drop()
      hand(handed)
    } catch (thrown) {
      failure = thrown
      drop()
      if (thrown instanceof ProviderFailure) answer.abort(thrown)
      opened.resolve()
    }
  }
  const ended = answer.each(handOn).then(() => {
    handOn()
    if (failure !== undefined) throw failure
  })
  // A rejection after the first event is handled by the code that forwards the stream.
  ended.then(opened.resolve, opened.reject)
  await opened.promise
  if (waiting.length === 0) {
    if (failure !== undefined) throw failure
    throw refused(answer, 'The answer has no event.')
  }
  /** Passes whole events; events that arrived together are passed in one call. */
  const listen = (listener: (events: Buffer) => void) => {
    hand = listener
    for (const events of waiting.splice(0)) listener(events)
  }
  return { answer, listen, ended }
}

export function isEventStream({ headers }: UpstreamHead): boolean {
  return String(headers['content-type']).startsWith('text/event-stream')
}

/** Throws a ProviderFailure for an answer whose media type is not text/event-stream. */
export function assertEvents(answer: OpenAnswer): void {
  if (!isEventStream(answer.head)) {
    throw refused(answer, 'The answer is not an event stream.')
  }
}

function refused(answer: OpenAnswer, message: string): ProviderFailure {
  const failure = new ProviderFailure('malformed', message)
  answer.abort(failure)
  return failure
}

/** Writes to a sink; pauses the answer while the sink is full. */
export function pausingWriter(answer: OpenAnswer, sink: EventSink) {
  let paused = false
  return {
    paused: () => paused,
    write: (events: Buffer) => {
      if (sink.write(events) || paused) return
      paused = true
      answer.pause()
      sink.onDrain(() => {
        paused = false
        answer.resume()
      })
    },
  }
}

/**
 * Passes whole events to `read` as the bytes that arrived, cut after an empty line. Throws a
 * ProviderFailure for an event of more than `eventBytesMax`.
 */
export function wholeEvents(
  eventBytesMax: number,
  read: (events: Buffer) => Buffer | undefined,
): EventReader {
  const carried = growingBytes()
  const withLineFeeds = lineFeeds()
  return {
    push: (chunk) => {
      const piece = withLineFeeds(chunk)
      // Shortcut: most pieces are whole events.
      if (carried.length() === 0 && endsEvent(piece)) return read(piece)
      const searched = Math.max(0, carried.length() - lineEndsBytes)
      const bytes = carried.add(piece)
      // Searches new bytes only: a search of all bytes for each piece would take quadratic time.
      const end = endOfEvents(bytes.subarray(searched))
      if (end === 0) {
        if (bytes.length > eventBytesMax) throw eventTooLarge()
        return undefined
      }
      carried.keepFrom(searched + end)
      if (carried.length() > eventBytesMax) throw eventTooLarge()
      return read(bytes.subarray(0, searched + end))
    },
    end: () => {
      if (carried.length() === 0) return undefined
      const last = carried.add(emptyLine)
      const { data } = fieldsOf(last)
      // A last event without its empty line is accepted if it is complete.
      return data === '[DONE]' || isJson(data) ? read(last) : undefined
    },
  }
}

/** Converts CRLF and CR line ends to LF, as OpenAI sends them. */
export function lineFeeds(): (piece: Buffer) => Buffer {
  let isCut = false
  return (piece) => {
    const from = isCut && piece[0] === lineFeed ? 1 : 0
    if (piece.length > 0) isCut = piece[piece.length - 1] === carriageReturn
    if (!piece.includes(carriageReturn)) return from === 0 ? piece : piece.subarray(from)
    // latin1 has one character per byte, and no UTF-8 sequence contains the byte of a carriage return.
    return Buffer.from(piece.toString('latin1', from).replaceAll(/\r\n?/g, '\n'), 'latin1')
  }
}

/** A growing buffer; appending costs linear time overall. */
function growingBytes() {
  let bytes: Buffer = nothing
  let used = 0
  return {
    length: () => used,
    /** Returns all bytes; buffers that were returned earlier do not change. */
    add: (piece: Buffer): Buffer => {
      const length = used + piece.length
      if (used === 0) bytes = piece
      else {
        if (length > bytes.length) {
          const grown = Buffer.allocUnsafe(
            length < doubledFromBytes ? length + spareBytes : length * 2,
          )
          grown.set(bytes.subarray(0, used))
          bytes = grown
        }
        bytes.set(piece, used)
      }
      used = length
      return bytes.subarray(0, used)
    },
    keepFrom: (start: number) => {
      // Leaves no capacity after `used`, so that the next piece does not overwrite returned bytes.
      bytes = bytes.subarray(start, used)
      used = bytes.length
    },
  }
}

/** The failure of a stream whose event exceeds the limit. */
export function eventTooLarge(): ProviderFailure {
  return new ProviderFailure('malformed', 'An event of the answer is too large.')
}

const nothing = Buffer.alloc(0)
/** Bytes of an empty line that may be at the end of an earlier piece. */
const lineEndsBytes = 1
/** Spare capacity for small events; the capacity of large events is doubled. */
const spareBytes = 1024
const doubledFromBytes = 65_536
export const lineFeed = 0x0a
const carriageReturn = 0x0d
export const emptyLine = Buffer.from('\n\n')

/** The end of the last whole event, after its empty line; 0 for none. */
function endOfEvents(bytes: Buffer): number {
  const at = bytes.lastIndexOf(emptyLine)
  return at < 0 ? 0 : at + emptyLine.length
}

function endsEvent(bytes: Buffer): boolean {
  return bytes[bytes.length - 1] === lineFeed && bytes[bytes.length - 2] === lineFeed
}

/** The end of the event that contains `from`. */
export function endOfEvent(events: Buffer, from: number): number {
  const end = events.indexOf(emptyLine, from)
  return end < 0 ? events.length : end + emptyLine.length
}

/** Limit of lines in an event: data is one line, or several lines if pretty-printed. */
const linesMax = 4096
const byteOrderMark = Buffer.from('\uFEFF')
const [eventField, dataField] = [Buffer.from('event:'), Buffer.from('data:')]

/**
 * The fields of an event (https://html.spec.whatwg.org/multipage/server-sent-events.html): its data is empty for
 * comments and empty lines, and `isPlain` if it is a single line of data, the form that the gateway writes. Throws a
 * ProviderFailure for an event with too many lines.
 */
export function fieldsOf(event: Buffer) {
  if (isPlainEvent(event)) {
    const data = event.toString('utf8', dataField.length, event.length - 2).trim()
    return { name: undefined, data, isPlain: true }
  }
  let name: string | undefined
  const data: string[] = []
  let lines = 0
  let next = 0
  for (let start = begins(event, byteOrderMark, 0) ? 3 : 0; start < event.length; start = next) {
    if (++lines > linesMax) throw eventTooLarge()
    const end = event.indexOf(lineFeed, start)
    next = end < 0 ? event.length : end + 1
    const text = (field: Buffer) => event.toString('utf8', start + field.length, next).trim()
    if (begins(event, dataField, start)) data.push(text(dataField))
    else if (begins(event, eventField, start)) name ??= text(eventField)
  }
  return { name, data: data.join('\n'), isPlain: false }
}

function isPlainEvent(event: Buffer): boolean {
  if (!begins(event, dataField, 0) || !endsEvent(event)) return false
  return event.indexOf(lineFeed) === event.length - 2
}

function begins(bytes: Buffer, beginning: Buffer, at: number): boolean {
  for (let place = 0; place < beginning.length; place++) {
    if (bytes[at + place] !== beginning[place]) return false
  }
  return true
}

export function eventOf(data: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(data)}\n\n`)
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
