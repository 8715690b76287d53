import type { EventSink } from '../core/chat/chat.ts'
import type { Answer } from '../http/answer.ts'
import type { PrintedJson } from './json-rpc.ts'

type Options = { acceptsEvents: boolean; isBatch: boolean }

const eventHead = Buffer.from('event: message\ndata: ')
const eventEnd = Buffer.from('\n\n')

/** The answer to one POST: JSON, or an event stream once `stream` or `notify` is called. */
export type PostResponse = ReturnType<typeof openResponse>

export function openResponse({ acceptsEvents, isBatch }: Options) {
  const { promise: answer, resolve, reject } = Promise.withResolvers<Answer>()
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const replies: PrintedJson[] = []
  const waiting: PrintedJson[] = []
  let isStream = false
  let sink: EventSink | undefined

  const send = (message: PrintedJson) => {
    if (sink === undefined) waiting.push(message)
    else writeEvent(sink, message)
  }
  const stream = () => {
    if (isStream || !acceptsEvents) return
    isStream = true
    waiting.push(...replies)
    const events = async (opened: EventSink) => {
      sink = opened
      for (const message of waiting.splice(0)) writeEvent(sink, message)
      await over
      return undefined
    }
    resolve({ status: 200, events })
  }

  return {
    answer,
    /** Turns the answer into an event stream if the client accepts one. */
    stream,
    /** Sends a message before the reply; dropped if the client accepts no event stream. */
    notify: (message: PrintedJson) => {
      stream()
      if (isStream) send(message)
    },
    reply: (message: PrintedJson) => {
      if (isStream) send(message)
      else replies.push(message)
    },
    end: () => {
      if (isStream) end()
      else resolve(repliesAnswer(replies, isBatch))
    },
    /** Ends an open event stream; otherwise rejects `answer` with the error. */
    fail: (error: unknown) => {
      if (isStream) end()
      else reject(error)
    },
  }
}

/** Without replies the answer is 202 with an empty body. */
function repliesAnswer(replies: readonly PrintedJson[], isBatch: boolean): Answer {
  const [first] = replies
  if (first === undefined) return { status: 202, pieces: [] }
  const pieces = isBatch
    ? ['[', ...replies.flatMap((reply, index) => (index === 0 ? reply : [',', ...reply])), ']']
    : first
  return jsonAnswer(pieces)
}

/** An answer with serialized JSON. */
export function jsonAnswer(
  pieces: PrintedJson,
  { status = 200, headers }: Partial<Pick<Answer, 'status' | 'headers'>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    pieces: joined(pieces),
  }
}

/** Joins adjacent strings, since each chunk is a separate write. */
function joined(pieces: PrintedJson): (string | Buffer)[] {
  const list: (string | Buffer)[] = []
  for (const piece of pieces) {
    const last = list.at(-1)
    if (typeof last === 'string' && typeof piece === 'string') list[list.length - 1] = last + piece
    else list.push(piece)
  }
  return list
}

/** Whether an Accept header names this media type; wildcards do not count. */
export function accepts(accept: string | undefined, type: string): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return name === type && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}

function writeEvent(sink: EventSink, message: PrintedJson): void {
  sink.write(eventHead)
  for (const piece of joined(message)) {
    sink.write(typeof piece === 'string' ? Buffer.from(piece) : piece)
  }
  sink.write(eventEnd)
}
