import type { Caller } from '../core/caller.ts'
import type { EventSink } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import type { Answer } from '../http/answer.ts'
import { nameOf, type Client } from './sessions.ts'

type StreamEvents = {
  opening: Buffer
  toolsChanged: Buffer
  /** Whether the stream receives the state of the account's calls. */
  receivesCalls: boolean
  /** Sent when the gateway ends the stream. */
  closing?: Buffer
}

export type EventStreamLimits = {
  eventStreamsPerSessionMax: number
  eventStreamsPerKeyMax: number
  eventStreamsPerAccountMax: number
  eventStreamsMax: number
}

type Stream = {
  client: Client
  events: StreamEvents
  write(event: Buffer): void
  /** Ends the stream with these last events. */
  end(last?: Buffer): void
}

/** The notification of a changed list of tools. */
export const toolsChanged = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
/** The events of streams of GET /mcp. */
const defaultEvents: StreamEvents = {
  opening: Buffer.from(': open\n\n'),
  toolsChanged: eventOf(toolsChanged),
  receivesCalls: true,
}
const retryAfterSeconds = 60

export type EventStreams = ReturnType<typeof createEventStreams>

export function createEventStreams(limits: EventStreamLimits) {
  const openStreams = createOpenStreams(limits)
  return {
    /**
     * Opens a stream; at the limit of the session, its oldest stream ends. Throws `rate_limit_exceeded`
     * at the limit of the key or the account, `overloaded` at the limit of the process.
     */
    open: (
      { accountId }: Caller,
      client: Client,
      { signal, events = defaultEvents }: { signal: AbortSignal; events?: StreamEvents },
    ): Answer => {
      if (client.sessionId !== undefined) {
        // The previous stream of a client that reconnects may still be open.
        const own = of(client, openStreams.of(accountId))
        const tooMany = own.length + 1 - limits.eventStreamsPerSessionMax
        for (const { end } of own.slice(0, Math.max(0, tooMany))) end()
      }
      openStreams.admit(accountId, client.keyId)
      const { promise: over, resolve } = Promise.withResolvers<Buffer | undefined>()
      const line = openLine(events.opening)
      const end = (last?: Buffer) => {
        openStreams.remove(accountId, stream)
        resolve(last)
      }
      const stream: Stream = { client, events, write: line.write, end }
      // Count the stream before its first byte is sent, so that concurrent requests cannot exceed a limit.
      openStreams.add(accountId, stream)
      if (signal.aborted) end()
      else signal.addEventListener('abort', () => end(), { once: true })
      const write = (sink: EventSink) => {
        line.connect(sink)
        return over
      }
      return { status: 200, staysOpen: true, events: write }
    },
    /** Whether the account has an open stream that receives the state of its calls. */
    isHeard: (accountId: string) =>
      openStreams
        .of(accountId)
        .values()
        .some(({ events }) => events.receivesCalls),
    /** Sends a message to those streams of the account whose client wants the message. */
    publish: (accountId: string, message: object, isWanted: (client: Client) => boolean) => {
      const event = eventOf(message)
      for (const { client, events, write } of openStreams.of(accountId)) {
        if (events.receivesCalls && isWanted(client)) write(event)
      }
    },
    announceToolsChanged: () => {
      for (const { events, write } of openStreams.all()) write(events.toolsChanged)
    },
    endSession: (client: Client) => {
      for (const { end } of of(client, openStreams.all())) end()
    },
    /** Ends all streams and opens no more. */
    close: () => {
      openStreams.close()
      for (const { events, end } of openStreams.all()) end(events.closing)
    },
  }
}

const noStreams: ReadonlySet<Stream> = new Set()

/** The open streams by account, within the limits. */
function createOpenStreams(limits: EventStreamLimits) {
  const byAccount = new Map<string, Set<Stream>>()
  let count = 0
  let isClosed = false
  return {
    admit: (accountId: string, keyId: string): void => {
      const streams = [...(byAccount.get(accountId) ?? noStreams)]
      const own = streams.length
      const ofKey = streams.filter(({ client }) => client.keyId === keyId).length
      if (ofKey >= limits.eventStreamsPerKeyMax) {
        throw new GatewayError(
          'rate_limit_exceeded',
          `This key has ${ofKey} open event streams, its limit. Close one before you open another.`,
          { retryAfterSeconds },
        )
      }
      if (own >= limits.eventStreamsPerAccountMax) {
        throw new GatewayError(
          'rate_limit_exceeded',
          `This account has ${own} open event streams, its limit. Close one before you open another.`,
          { retryAfterSeconds },
        )
      }
      if (!isClosed && count < limits.eventStreamsMax) return
      throw new GatewayError('overloaded', 'The gateway cannot open more event streams now.', {
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

/** The streams of a client, oldest first. */
function of(client: Client, streams: Iterable<Stream>): Stream[] {
  const name = nameOf(client)
  return [...streams].filter((stream) => nameOf(stream.client) === name)
}

/** A JSON-RPC message as a server-sent event. */
export function eventOf(message: object): Buffer {
  return Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}

/** Writes events to the client; drops them while the client reads too slowly. */
function openLine(opening: Buffer) {
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
