import type { ServerResponse } from 'node:http'
import type { EventSink } from '../core/chat/chat.ts'
import { eventWriter } from './event-writer.ts'

/** What a handler answers; one function writes all of them. */
export type Answer = {
  status: number
  headers?: Record<string, string>
  /** Sent as JSON; a text is JSON already. */
  json?: object | string
  /** Sent as they are, with the content type among the headers. */
  pieces?: readonly (string | Buffer)[]
  /** A stream of server-sent events, which ends when the promise is kept, with what that gives. */
  events?: (sink: EventSink) => Promise<Buffer | undefined>
  /** The stream waits for news: it is open, but it is not a request in work. */
  held?: true
}

const ping = Buffer.from(': ping\n\n')

type SendOptions = {
  requestId: string
  pingIntervalMs: number
  /** A JSON answer is whole at once, but ends, and with it perhaps its connection, only behind this. */
  requestRead?: Promise<void> | undefined
}

/**
 * Writes an answer to the end. A stream's end is promised, also when the other side leaves in the
 * middle.
 */
export function send(
  response: ServerResponse,
  answer: Answer,
  { requestId, pingIntervalMs, requestRead }: SendOptions,
): Promise<void> | undefined {
  const { status, json, events } = answer
  // Handed over together: headers that are set one by one are checked twice.
  const headers: Record<string, string> = { 'x-request-id': requestId, ...answer.headers }
  // A stream is heard to its end also when nobody listens: its call has to be closed and recorded.
  if (events !== undefined) return sendEvents(response, status, headers, events, pingIntervalMs)
  if (response.destroyed || response.headersSent) return undefined
  if (json !== undefined) {
    headers['content-type'] = 'application/json'
    const text = typeof json === 'string' ? json : JSON.stringify(json)
    sendText(response, status, headers, text, requestRead)
  } else {
    sendPieces(response, status, headers, answer.pieces ?? [])
  }
  return undefined
}

function sendText(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  text: string,
  requestRead: Promise<void> | undefined,
): void {
  const length = Buffer.byteLength(text)
  // A text without letters beyond ASCII is its own bytes, and goes out without being encoded.
  const encoding = length === text.length ? 'latin1' : 'utf8'
  headers['content-length'] = String(length)
  response.writeHead(status, headers)
  if (requestRead === undefined) {
    response.end(text, encoding)
  } else {
    response.write(text, encoding)
    void requestRead.then(() => response.end())
  }
}

function sendPieces(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  pieces: readonly (string | Buffer)[],
): void {
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  if (status !== 204) headers['content-length'] = String(length)
  response.writeHead(status, headers)
  if (pieces.length < 2) {
    response.end(pieces[0])
    return
  }
  // One system call for all of them instead of one each.
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
  response.uncork()
}

async function sendEvents(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  events: (sink: EventSink) => Promise<Buffer | undefined>,
  pingIntervalMs: number,
): Promise<void> {
  headers['content-type'] = 'text/event-stream; charset=utf-8'
  headers['cache-control'] = 'no-cache, no-transform'
  // Proxies such as nginx must not collect the events.
  headers['x-accel-buffering'] = 'no'
  if (!response.destroyed) response.writeHead(status, headers)
  const sink = eventWriter(response)
  const pings = setInterval(() => {
    if (response.socket?.writableNeedDrain !== true) sink.write(ping)
  }, pingIntervalMs)
  let last: Buffer | undefined
  try {
    const ended = events(sink)
    // With the first event, where that is there already, the head goes out in one piece.
    if (!sink.begun() && !response.destroyed) response.flushHeaders()
    last = await ended
  } finally {
    clearInterval(pings)
    // In one system call with the end.
    response.end(response.destroyed ? undefined : last)
  }
}
