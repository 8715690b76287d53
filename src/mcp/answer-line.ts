import type { EventSink } from '../core/chat/chat.ts'
import type { Answer } from '../http/answer.ts'
import { joined } from './content.ts'
import type { Pieces } from './json-rpc.ts'

/** The answer to one POST: JSON, until there is something to stream. */
export type AnswerLine = {
  answer: Promise<Answer>
  /** Makes it a stream from here on, where the client accepts one. */
  stream(): void
  /** A message on the way; without a stream there is nowhere to tell it. */
  notify(message: Pieces): void
  reply(message: Pieces): void
  end(): void
  /** Ends what cannot be answered, because of a fault of ours. */
  fail(error: unknown): void
}

type Options = { acceptsEvents: boolean; isBatch: boolean }

const eventHead = Buffer.from('event: message\ndata: ')
const eventEnd = Buffer.from('\n\n')

export function openAnswerLine({ acceptsEvents, isBatch }: Options): AnswerLine {
  const { promise: answer, resolve, reject } = Promise.withResolvers<Answer>()
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  const replies: Pieces[] = []
  const waiting: Pieces[] = []
  let isStream = false
  let sink: EventSink | undefined

  const send = (message: Pieces) => {
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
    stream,
    notify: (message) => {
      stream()
      if (isStream) send(message)
    },
    reply: (message) => {
      if (isStream) send(message)
      else replies.push(message)
    },
    end: () => {
      if (isStream) end()
      else resolve(repliesAnswer(replies, isBatch))
    },
    fail: (error) => {
      if (isStream) end()
      else reject(error)
    },
  }
}

/** Nothing to answer is 202 with an empty body. */
function repliesAnswer(replies: readonly Pieces[], isBatch: boolean): Answer {
  const [first] = replies
  if (first === undefined) return { status: 202, pieces: [] }
  const pieces = isBatch
    ? ['[', ...replies.flatMap((reply, index) => (index === 0 ? reply : [',', ...reply])), ']']
    : first
  return jsonAnswer(joined(pieces))
}

/** JSON that is printed already. */
export function jsonAnswer(pieces: Pieces): Answer {
  return { status: 200, headers: { 'content-type': 'application/json' }, pieces }
}

function writeEvent(sink: EventSink, message: Pieces): void {
  sink.write(eventHead)
  for (const piece of joined(message)) {
    sink.write(typeof piece === 'string' ? Buffer.from(piece) : piece)
  }
  sink.write(eventEnd)
}
