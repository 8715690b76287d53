import type { Caller } from '../core/caller.ts'
import type { EventSink } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import type { Answer } from '../http/answer.ts'

/** The event streams that clients hold open with GET /mcp. */
export type EventStreams = {
  /** Throws `rate_limit_exceeded` at the account's limit, `overloaded` at the gateway's. */
  open(caller: Caller, signal: AbortSignal): Answer
  /** Whether the account has an open stream. */
  isHeard(accountId: string): boolean
  /** Sends a message to the account's streams whose key wants it. */
  publish(accountId: string, message: object, isWanted: (keyId: string) => boolean): void
  /** Sends a message to all streams. */
  broadcast(message: object): void
  /** Ends all streams and opens no more. */
  close(): void
}

type Limits = {
  eventStreamsPerKeyMax: number
  eventStreamsPerAccountMax: number
  eventStreamsMax: number
}
type Stream = { keyId: string; write(event: Buffer): void; end(): void }

const opening = Buffer.from(': open\n\n')
const retryAfterSeconds = 60

export function createEventStreams(limits: Limits): EventStreams {
  const held = createHeldStreams(limits)
  return {
    open: ({ accountId, keyId }, signal) => {
      held.admit(accountId, keyId)
      const { promise: over, resolve: end } = Promise.withResolvers<void>()
      const line = openLine()
      const stream = { keyId, write: line.write, end }
      // Counts against the limits from here on, before its first byte is sent.
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

const noStreams: ReadonlySet<Stream> = new Set()

/** The open streams by account, within the limits. */
function createHeldStreams(limits: Limits) {
  const byAccount = new Map<string, Set<Stream>>()
  let count = 0
  let isClosed = false
  return {
    admit: (accountId: string, keyId: string): void => {
      const streams = [...(byAccount.get(accountId) ?? noStreams)]
      const own = streams.length
      const ofKey = streams.filter((stream) => stream.keyId === keyId).length
      if (ofKey >= limits.eventStreamsPerKeyMax) {
        throw new GatewayError(
          'rate_limit_exceeded',
          `This key holds ${ofKey} event streams open. Close some of them before opening more.`,
          { retryAfterSeconds },
        )
      }
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
    of: (accountId: string) => byAccount.get(accountId) ?? noStreams,
    all: () => [...byAccount.values()].flatMap((streams) => [...streams]),
    close: () => {
      isClosed = true
    },
  }
}

/** A JSON-RPC message as a server-sent event. */
function eventOf(message: object): Buffer {
  return Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}

/** Drops events while the client reads too slowly; none is kept for later. */
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
