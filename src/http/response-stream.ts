import type { ServerResponse } from 'node:http'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { EventSink } from '../core/chat/chat.ts'
import type { GatewayError } from '../core/error.ts'
import { createPlaces } from '../core/resilience/places.ts'
import { holdUnread } from './connection-table.ts'
import { eventWriter } from './event-writer.ts'

/** How the streams of an API are kept open, and how they fail; the defaults are those of chats. */
export type StreamForm = {
  /** Additional headers of a head that is sent before the answer. */
  headers?: Readonly<Record<string, string>>
  /** The event that opens such a stream and keeps it open; by default a comment. */
  ping?: () => Buffer
  /** The last events of a stream that fails after its head; by default one with the body of the error. */
  failed?: (error: GatewayError, late: LateHeaders) => Buffer
}

/** The member of a last event with the headers that the head could not have; empty if it had them. */
export type LateHeaders = { late_headers?: Record<string, string> }

/**
 * The stream of a request, which its handler may write to before it returns the answer. The first write
 * sends the head; without one it is sent after `streamAfterMs`. Later errors become events.
 *
 * @example
 * const showAll = ({ write }: ResponseStream, events: readonly Buffer[]) => events.forEach(write)
 */
export type ResponseStream = EventSink & { form: StreamForm }

/** The stream of a response, for the exchange that answers it. */
export type OpenStream = ReturnType<typeof openStream>

export type ResponseStreams = ReturnType<typeof createResponseStreams>

type Options = {
  limits: { streamAfterMs: number; pingIntervalMs: number }
  monotonic: () => number
}

/** A delay of heads and pings that no proxy notices. */
const lookMsMax = 100
const comment = Buffer.from(': ping\n\n')

/** The open event streams of the process. One timer sends their early heads and their pings. */
export function createResponseStreams({ limits, monotonic }: Options) {
  const { streamAfterMs, pingIntervalMs } = limits
  const lookMs = Math.min(streamAfterMs / 4, pingIntervalMs / 4, lookMsMax)
  const watched = createPlaces<{ dueAtMs: number; wake: () => void }>()
  let isArmed = false
  const arm = () => {
    if (!isArmed) setTimeout(look, lookMs).unref()
    isArmed = true
  }
  const look = () => {
    isArmed = false
    const nowMs = monotonic()
    for (const one of watched.all()) {
      if (nowMs < one.dueAtMs) continue
      one.wake()
      one.dueAtMs = nowMs + pingIntervalMs
    }
    if (!watched.isEmpty()) arm()
  }
  const watch: Watch = (wake) => {
    const one = { wake, dueAtMs: monotonic() + streamAfterMs }
    const leave = watched.add(one)
    arm()
    return { leave, begin: () => (one.dueAtMs += pingIntervalMs - streamAfterMs) }
  }
  return {
    /** Opens the stream of a response whose head has not been sent. */
    open: (response: ServerResponse, answered: Answered) => openStream(response, answered, watch),
  }
}

/** Calls `wake` after `streamAfterMs`, or a ping interval if the stream begins before, then again and again. */
type Watch = (wake: () => void) => { leave: () => void; begin: () => void }
type Answered = { requestId: string; memory: MemoryHold }

function openStream(response: ServerResponse, { requestId, memory }: Answered, watch: Watch) {
  const writer = eventWriter(response, memory)
  const begin = (status: number, headers: Record<string, string>): EventSink => {
    if (response.headersSent) return writer
    watched?.begin()
    headers['content-type'] = 'text/event-stream; charset=utf-8'
    headers['cache-control'] = 'no-cache, no-transform'
    // Keeps proxies such as nginx from buffering the events.
    headers['x-accel-buffering'] = 'no'
    if (!response.destroyed) response.writeHead(status, headers)
    return writer
  }
  const stream: ResponseStream = {
    form: {},
    write: (events) =>
      begin(200, { 'x-request-id': requestId, ...stream.form.headers }).write(events),
    onDrain: writer.onDrain,
  }
  let watched: ReturnType<Watch> | undefined = watch(() => {
    // A destroyed response has no socket.
    if (response.socket?.writableNeedDrain === false) stream.write(stream.form.ping?.() ?? comment)
  })
  const close = () => {
    watched?.leave()
    watched = undefined
  }
  return {
    stream,
    /** Sends the head, unless it has been sent. Returns the sink of the events. */
    begin,
    /** Sends a head that no event has sent. */
    flush: () => {
      if (!writer.hasBegun() && !response.destroyed) response.flushHeaders()
    },
    /** Ends the response: the last events and the end share one system call. */
    end: (last: Buffer | undefined) => {
      close()
      response.end(response.destroyed ? undefined : last)
      writer.over()
      holdUnread(response, memory)
    },
    /** No more pings. */
    close,
  }
}
