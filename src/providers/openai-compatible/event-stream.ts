import type { ChatStream, ChunkIdentity, EventSink, StreamEnd } from '../../core/chat.ts'
import { ProviderFailure } from '../../core/failure.ts'
import type { Usage } from '../../core/price.ts'
import type { OpenAnswer } from '../upstream.ts'
import { complaintOf, kindOf } from './failure.ts'
import { readUsage, type WireUsage } from './usage.ts'

type Chunk = Partial<ChunkIdentity> & {
  choices?: unknown[]
  usage?: WireUsage
  error?: unknown
}

const usageKey = Buffer.from('"usage"')
const errorKey = Buffer.from('"error"')
const dataKey = Buffer.from('data:')
const doneMark = Buffer.from('[DONE]')
const finishReason = /"finish_reason":\s*"/

/** An answer as the events that it is made of. */
type EventSource = {
  answer: OpenAnswer
  /** Hands over whole events, several at once where they came so. */
  listen(onEvents: (events: Buffer) => void): void
  ended: Promise<void>
}

/**
 * Passes an OpenAI-shaped event stream on as the bytes that arrive. Only an event that counts tokens,
 * reports an error or ends the stream is looked into: parsing each would cost three times the
 * forwarding of a burst (performance.md section 3).
 * Resolves when the first event is there that is more than a comment. Throws a ProviderFailure when
 * there is none, or when it is an error. An event of more than `eventBytesMax` breaks the stream off.
 */
export async function startStream(answer: OpenAnswer, eventBytesMax: number): Promise<ChatStream> {
  const refuse = (failure: ProviderFailure) => {
    answer.abort(failure)
    return failure
  }
  if (!String(answer.head.headers['content-type']).startsWith('text/event-stream')) {
    throw refuse(new ProviderFailure('malformed', 'The answer is not an event stream.'))
  }
  const waiting: Buffer[] = []
  const opened = Promise.withResolvers<void>()
  let onEvents = (events: Buffer) => {
    if (waiting.length === 0 && !events.includes(dataKey)) return
    waiting.push(events)
    answer.pause()
    opened.resolve()
  }
  const ended = eachEvents(answer, eventBytesMax, (events) => onEvents(events))
  // Whoever forwards the stream hears of it too.
  ended.catch(() => undefined)
  await Promise.race([opened.promise, ended])
  const [first] = waiting
  if (first === undefined) {
    throw refuse(new ProviderFailure('malformed', 'The answer has no event.'))
  }
  const failure = first.includes(errorKey) ? failureOf(firstChunk(first)) : undefined
  if (failure !== undefined) throw refuse(failure)
  const listen: EventSource['listen'] = (listener) => {
    onEvents = listener
    for (const events of waiting.splice(0)) listener(events)
  }
  return { forward: (sink) => forward({ answer, listen, ended }, sink) }
}

/** Hands over the pieces of an answer again, cut behind events. */
async function eachEvents(
  answer: OpenAnswer,
  eventBytesMax: number,
  onEvents: (events: Buffer) => void,
): Promise<void> {
  let carried: Buffer[] = []
  let bytes = 0
  await answer.each((piece) => {
    carried.push(piece)
    bytes += piece.length
    if (piece.includes(lineFeed)) {
      const joined = carried.length === 1 ? piece : Buffer.concat(carried)
      const end = endOfEvents(joined)
      carried = end === joined.length ? [] : [joined.subarray(end)]
      bytes -= end
      if (end > 0) onEvents(joined.subarray(0, end))
    }
    if (bytes > eventBytesMax) {
      answer.abort(new ProviderFailure('malformed', 'An event of the answer is too large.'))
    }
  })
  const last = Buffer.concat([...carried, emptyLine])
  const data = dataOf(last)
  // A last event without its empty line is legal when it is whole.
  if (data === '[DONE]' || parse(data ?? '') !== undefined) onEvents(last)
}

const lineFeed = 0x0a
const emptyLine = Buffer.from('\n\n')

async function forward(
  { answer, listen, ended }: EventSource,
  sink: EventSink,
): Promise<StreamEnd> {
  let usage: Usage | undefined
  let identity: ChunkIdentity | undefined
  let failure: ProviderFailure | undefined
  let last: Buffer | undefined
  let over = false
  let paused = false
  const told = Promise.withResolvers<void>()

  const finish = () => {
    over = true
    told.resolve()
  }
  const write = (events: Buffer) => {
    last = events
    if (sink.write(events) || paused) return
    paused = true
    answer.pause()
    sink.onDrain(() => {
      paused = false
      answer.resume()
    })
  }
  const readEvent = (event: Buffer) => {
    const data = dataOf(event)
    if (data === undefined || over) return
    // Some upstreams keep the connection open behind it.
    if (data === '[DONE]') return finish()
    const chunk = parse(data)
    failure = failureOf(chunk)
    if (failure !== undefined) {
      answer.abort(failure)
      return finish()
    }
    if (!chunk?.usage) return write(event)
    usage = readUsage(chunk.usage) ?? usage
    if (chunk.choices === undefined || chunk.choices.length === 0) return
    const { usage: _usage, ...rest } = chunk
    write(Buffer.from(`data: ${JSON.stringify(rest)}\n\n`))
  }

  listen((events) => {
    if (over) return
    identity ??= identityOf(events)
    if (isPlain(events)) write(events)
    else for (const event of split(events)) readEvent(event)
  })
  if (!paused) answer.resume()
  await Promise.race([told.promise, ended])
  if (failure !== undefined) throw failure
  if (!over && usage === undefined && !finishReason.test(String(last))) {
    throw new ProviderFailure('unreachable', 'The provider broke the stream off.')
  }
  return { usage, identity: identity ?? { id: '', created: 0, model: '' } }
}

/** Whether nothing in these events has to be looked into. */
function isPlain(events: Buffer): boolean {
  return !events.includes(doneMark) && !events.includes(errorKey) && !hasUsage(events)
}

/** `"usage": null` stands in every chunk of some upstreams; only counts matter. */
function hasUsage(events: Buffer): boolean {
  for (let at = events.indexOf(usageKey); at >= 0; at = events.indexOf(usageKey, at + 1)) {
    let next = at + usageKey.length
    while (events[next] === 0x3a || events[next] === 0x20) next++
    if (events[next] === 0x7b) return true
  }
  return false
}

/** Where the last whole event ends: behind an empty line, whichever line ends are used. */
function endOfEvents(bytes: Buffer): number {
  const unix = bytes.lastIndexOf('\n\n')
  const windows = bytes.lastIndexOf('\r\n\r\n')
  return Math.max(unix < 0 ? 0 : unix + 2, windows < 0 ? 0 : windows + 4)
}

function split(events: Buffer): Buffer[] {
  return events
    .toString()
    .split(/(?<=\r?\n\r?\n)/)
    .map((event) => Buffer.from(event))
}

/** The data of an event; undefined for comments and empty lines. */
function dataOf(event: Buffer): string | undefined {
  const lines = event
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim())
  return lines.length === 0 ? undefined : lines.join('\n')
}

function firstChunk(events: Buffer): Chunk | undefined {
  return parse(split(events).map(dataOf).find(Boolean) ?? '')
}

function identityOf(events: Buffer): ChunkIdentity | undefined {
  for (const event of split(events)) {
    const chunk = parse(dataOf(event) ?? '')
    if (typeof chunk?.id !== 'string') continue
    return { id: chunk.id, created: chunk.created ?? 0, model: chunk.model ?? '' }
  }
  return undefined
}

function parse(data: string): Chunk | undefined {
  try {
    return JSON.parse(data) as Chunk
  } catch {
    return undefined
  }
}

/** The error that a chunk reports; undefined when it reports none. */
function failureOf(chunk: Chunk | undefined): ProviderFailure | undefined {
  if (chunk?.error === undefined || chunk.error === null) return undefined
  const complaint = complaintOf(chunk)
  const status = Number(complaint.code) >= 400 ? Number(complaint.code) : 500
  const message = 'The provider failed in mid-stream.'
  return new ProviderFailure(kindOf(status, complaint), message, { status })
}
