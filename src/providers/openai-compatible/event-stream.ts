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
const doneMark = Buffer.from('[DONE]')
const finishKey = Buffer.from('"finish_reason":')

/**
 * Passes an OpenAI-shaped event stream on as the bytes that arrive. Only an event that counts tokens,
 * reports an error or ends the stream is looked into: parsing each would cost three times the
 * forwarding of a burst (performance.md section 3).
 * Throws a ProviderFailure when the first piece shows that this is no answer.
 */
export function startStream(answer: OpenAnswer): ChatStream {
  const refuse = (failure: ProviderFailure) => {
    answer.abort(failure)
    return failure
  }
  const type = String(answer.head.headers['content-type'])
  if (!type.startsWith('text/event-stream') || answer.firstPiece.length === 0) {
    throw refuse(new ProviderFailure('malformed', 'The answer is not an event stream.'))
  }
  const [first] = answer.firstPiece.includes(errorKey) ? split(answer.firstPiece) : []
  const chunk = parse(dataOf(first ?? nothing) ?? '')
  if (isError(chunk)) throw refuse(streamFailure(chunk))
  return { forward: (sink) => forward(answer, sink) }
}

const nothing = Buffer.alloc(0)

async function forward(answer: OpenAnswer, sink: EventSink): Promise<StreamEnd> {
  let carried: Buffer | undefined
  let usage: Usage | undefined
  let identity: ChunkIdentity | undefined
  let done = false
  let last: Buffer | undefined

  const write = (events: Buffer) => {
    if (events.length === 0 || done) return
    last = events
    if (sink.write(events)) return
    answer.pause()
    sink.onDrain(answer.resume)
  }
  const readEvent = (event: Buffer) => {
    const data = dataOf(event)
    if (data === '[DONE]') done = true
    if (data === undefined || done) return
    const chunk = parse(data)
    if (isError(chunk)) return answer.abort(streamFailure(chunk))
    if (!chunk?.usage) return write(event)
    usage = readUsage(chunk.usage) ?? usage
    if (chunk.choices === undefined || chunk.choices.length === 0) return undefined
    const { usage: _usage, ...rest } = chunk
    return write(Buffer.from(`data: ${JSON.stringify(rest)}\n\n`))
  }

  await answer.each((piece) => {
    const bytes = carried === undefined ? piece : Buffer.concat([carried, piece])
    const end = endOfEvents(bytes)
    carried = end === bytes.length ? undefined : bytes.subarray(end)
    const events = bytes.subarray(0, end)
    if (end > 0) identity ??= identityOf(events)
    if (isPlain(events)) write(events)
    else for (const event of split(events)) readEvent(event)
  })
  // A last event without its empty line is legal when it is whole.
  if (carried !== undefined && !done) readEvent(Buffer.concat([carried, Buffer.from('\n\n')]))
  if (!done && usage === undefined && !last?.includes(finishKey)) {
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

function isError(chunk: Chunk | undefined): boolean {
  return chunk?.error !== undefined && chunk.error !== null
}

function streamFailure(chunk: Chunk | undefined): ProviderFailure {
  const complaint = complaintOf(chunk)
  const status = Number(complaint.code) >= 400 ? Number(complaint.code) : 500
  return new ProviderFailure(kindOf(status, complaint), 'The provider failed in mid-stream.', {
    status,
  })
}
