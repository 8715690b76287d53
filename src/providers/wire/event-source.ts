import { joinPieces } from '../../bytes/pieces.ts'
import type { EventSink } from '../../core/chat/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import { noMemory } from '../transport/drawing.ts'
import type { OpenAnswer } from '../transport/upstream.ts'

/** An answer as the events that it is made of; it rests until somebody listens. */
export type EventSource = {
  answer: OpenAnswer
  /** Hands over whole events, several at once where they came so. */
  listen(onEvents: (events: Buffer) => void): void
  /** Rejects with a ProviderFailure when the answer breaks off or reports an error. */
  ended: Promise<void>
}

/** Makes of an answer's pieces what is handed on; undefined is nothing yet. Both may throw. */
export type EventReader = {
  push(piece: Buffer): Buffer | undefined
  /** At the end of the answer. */
  end(): Buffer | undefined
}

/**
 * Reads an answer as events. Resolves when there is something to hand on. Throws a ProviderFailure when
 * there never is, or what the reader throws.
 */
export async function startEvents(answer: OpenAnswer, reader: EventReader): Promise<EventSource> {
  const { hold } = answer
  const waiting: Buffer[] = []
  /** Bytes of an event that is not whole yet. */
  let carried = 0
  const carry = (bytes: number) => {
    const refusal = bytes === 0 ? undefined : hold.takeMore(bytes)
    if (refusal !== undefined) throw noMemory()
    carried += bytes
  }
  const drop = () => {
    hold.give(carried)
    carried = 0
  }
  const opened = Promise.withResolvers<void>()
  let failure: unknown
  let hand = (events: Buffer) => {
    waiting.push(events)
    answer.pause()
    opened.resolve()
  }
  const handOn = (bytes: number, read: () => Buffer | undefined) => {
    if (failure !== undefined) return
    try {
      const handed = read()
      if (handed === undefined) return carry(bytes)
      if (carried > 0) drop()
      hand(handed)
    } catch (thrown) {
      failure = thrown
      drop()
      if (thrown instanceof ProviderFailure) answer.abort(thrown)
      opened.resolve()
    }
  }
  const ended = answer
    .each((piece) => handOn(piece.length, () => reader.push(piece)))
    .then(() => {
      handOn(0, () => reader.end())
      if (failure !== undefined) throw failure
    })
  // `ended` rejects for the code that forwards the stream as well.
  ended.then(opened.resolve, opened.reject)
  await opened.promise
  if (waiting.length === 0) {
    if (failure !== undefined) throw failure
    throw refused(answer, 'The answer has no event.')
  }
  const listen: EventSource['listen'] = (listener) => {
    hand = listener
    for (const events of waiting.splice(0)) listener(events)
  }
  return { answer, listen, ended }
}

/** Throws a ProviderFailure for an answer that does not call itself an event stream. */
export function assertEvents(answer: OpenAnswer): void {
  const type = String(answer.head.headers['content-type'])
  if (!type.startsWith('text/event-stream')) {
    throw refused(answer, 'The answer is not an event stream.')
  }
}

function refused(answer: OpenAnswer, message: string): ProviderFailure {
  const failure = new ProviderFailure('malformed', message)
  answer.abort(failure)
  return failure
}

/** Writes to a sink; while it takes no more, the answer rests. */
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
 * Hands whole events to `read` as the bytes that arrived, cut after an empty line. An event of more than
 * `eventBytesMax` is a ProviderFailure.
 */
export function wholeEvents(
  eventBytesMax: number,
  read: (events: Buffer) => Buffer | undefined,
): EventReader {
  let carried: Buffer[] | undefined
  let bytes = 0
  return {
    push: (piece) => {
      // Most pieces are whole events, and need no search.
      if (carried === undefined && endsEvent(piece)) return read(piece)
      if (carried === undefined) carried = [piece]
      else carried.push(piece)
      bytes += piece.length
      const whole = piece.includes(lineFeed) ? joinPieces(carried) : nothing
      const end = endOfEvents(whole)
      if (end > 0) {
        carried = end === whole.length ? undefined : [whole.subarray(end)]
        bytes = whole.length - end
      }
      if (bytes > eventBytesMax) throw eventTooLarge()
      return end > 0 ? read(whole.subarray(0, end)) : undefined
    },
    end: () => {
      if (carried === undefined) return undefined
      const last = Buffer.concat([...carried, emptyLine])
      const { data } = fieldsOf(last)
      // A last event without its empty line is accepted when it is whole.
      return data === '[DONE]' || isJson(data) ? read(last) : undefined
    },
  }
}

/** Why a stream is broken off whose event does not end. */
export function eventTooLarge(): ProviderFailure {
  return new ProviderFailure('malformed', 'An event of the answer is too large.')
}

const nothing = Buffer.alloc(0)
const lineFeed = 0x0a
const carriageReturn = 0x0d
const emptyLine = Buffer.from('\n\n')

/** Where the last whole event ends: behind an empty line, whichever line ends are used. */
export function endOfEvents(bytes: Buffer): number {
  for (let at = bytes.lastIndexOf(lineFeed); at > 0; at = bytes.lastIndexOf(lineFeed, at - 1)) {
    const before = bytes[at - 1] === carriageReturn ? at - 2 : at - 1
    if (bytes[before] === lineFeed) return at + 1
  }
  return 0
}

/** Whether an empty line is the last, with plain line ends; with others it has to be looked for. */
function endsEvent(bytes: Buffer): boolean {
  return bytes[bytes.length - 1] === lineFeed && bytes[bytes.length - 2] === lineFeed
}

/** Where the event ends that `from` is in. */
export function endOfEvent(events: Buffer, from: number): number {
  for (let at = events.indexOf(lineFeed, from); at >= 0; at = events.indexOf(lineFeed, at + 1)) {
    const next = events[at + 1] === carriageReturn ? at + 2 : at + 1
    if (events[next] === lineFeed) return next + 1
  }
  return events.length
}

const plainEvent = /^data:([^\r\n]*)\n\n$/

type Fields = {
  name: string | undefined
  /** Empty for comments and empty lines. */
  data: string
  /** Whether it is one line of data, as we write events. */
  isPlain: boolean
}

/** What an event says (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export function fieldsOf(event: Buffer): Fields {
  const text = event.toString()
  const line = plainEvent.exec(text)?.[1]
  if (line !== undefined) return { name: undefined, data: line.trim(), isPlain: true }
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const all = (field: string) =>
    lines
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).trim())
  return { name: all('event')[0], data: all('data').join('\n'), isPlain: false }
}

/** An event of this data. */
export function eventOf(data: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(data)}\n\n`)
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
