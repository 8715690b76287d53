import type { Caller } from '../core/caller.ts'
import type { EventSink } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import type { Answer } from '../http/answer.ts'

/** The streams that clients hold open for news. */
export type EventStreams = {
  /** Opens one. Throws `rate_limit_exceeded` when the account holds as many as it may. */
  open(caller: Caller, signal: AbortSignal): Answer
  /** Whether anybody of the account would hear a message. */
  isHeard(accountId: string): boolean
  /** Tells a message to the streams of an account, but not to keys that want no such messages. */
  publish(accountId: string, message: object, isWanted: (keyId: string) => boolean): void
  /** Tells a message to everybody. */
  broadcast(message: object): void
  /** Ends all of them, and opens no more. */
  close(): void
}

type Limits = { eventStreamsPerAccountMax: number; eventStreamsMax: number }
type Stream = { keyId: string; write(event: Buffer): void; end(): void }

const opening = Buffer.from(': open\n\n')
const retryAfterSeconds = 60

export function createEventStreams(limits: Limits): EventStreams {
  const held = createHeldStreams(limits)
  return {
    open: ({ accountId, keyId }, signal) => {
      held.admit(accountId)
      const { promise: over, resolve: end } = Promise.withResolvers<void>()
      const line = openLine()
      const stream = { keyId, write: line.write, end }
      // From here on, whether or not a single byte can still be sent.
      held.add(accountId, stream)
      const leave = () => {
        held.remove(accountId, stream)
        end()
      }
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
      const events = async (sink: EventSink) => {
        line.connect(sink)
        await over
        held.remove(accountId, stream)
        return undefined
      }
      return { status: 200, held: true, events }
    },
    isHeard: (accountId) => held.of(accountId).size > 0,
    publish: (accountId, message, isWanted) => {
      const event = eventOf(message)
      for (const { keyId, write } of held.of(accountId)) if (isWanted(keyId)) write(event)
    },
    broadcast: (message) => {
      const event = eventOf(message)
      for (const { write } of held.all()) write(event)
    },
    close: () => {
      held.close()
      for (const { end } of held.all()) end()
    },
  }
}

const nobody: ReadonlySet<Stream> = new Set()

/** Which streams are open, for whom, within the bounds. */
function createHeldStreams(limits: Limits) {
  const byAccount = new Map<string, Set<Stream>>()
  let count = 0
  let isClosed = false
  return {
    admit: (accountId: string): void => {
      const own = byAccount.get(accountId)?.size ?? 0
      if (own >= limits.eventStreamsPerAccountMax) {
        throw new GatewayError(
          'rate_limit_exceeded',
          `This account holds ${own} event streams open. Close some of them before opening more.`,
          { retryAfterSeconds },
        )
      }
      if (!isClosed && count < limits.eventStreamsMax) return
      throw new GatewayError('overloaded', 'No more event streams can be held here now.', {
        retryAfterSeconds,
      })
    },
    add: (accountId: string, stream: Stream): void => {
      const streams = byAccount.get(accountId) ?? new Set()
      byAccount.set(accountId, streams.add(stream))
      count++
    },
    remove: (accountId: string, stream: Stream): void => {
      const streams = byAccount.get(accountId)
      if (streams?.delete(stream) !== true) return
      if (streams.size === 0) byAccount.delete(accountId)
      count--
    },
    of: (accountId: string) => byAccount.get(accountId) ?? nobody,
    all: () => [...byAccount.values()].flatMap((streams) => [...streams]),
    close: () => {
      isClosed = true
    },
  }
}

/** A message of the protocol as an event. */
export function eventOf(message: object): Buffer {
  return Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}

/** News that a slow reader cannot take are dropped: nothing is kept for later. */
function openLine() {
  let sink: EventSink | undefined
  let isFull = false
  const write = (event: Buffer) => {
    if (sink === undefined || isFull || sink.write(event)) return
    isFull = true
    sink.onDrain(() => (isFull = false))
  }
  const connect = (connected: EventSink) => {
    sink = connected
    write(opening)
  }
  return { write, connect }
}
