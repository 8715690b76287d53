import type { ServerResponse } from 'node:http'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { CallContext } from '../core/caller.ts'
import type { EventSink } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import { codedBytesMin, encode, preferredCoding } from './content-coding.ts'
import { holdUnread, readerOf } from './connection-table.ts'
import type { OpenStream, ResponseStreams } from './response-stream.ts'

/** The answer of a handler; `send` writes it. */
export type Answer = {
  status: number
  headers?: Record<string, string>
  /** Body sent as JSON; a string is JSON text already. */
  json?: object | string
  /**
   * Allows compression of long JSON if the client accepts it. Set it only for bodies without
   * secrets: the compressed length of a body that mixes secrets with client input leaks them
   * (BREACH).
   */
  mayBeCoded?: true
  /** Body sent verbatim; `headers` must have the content type. */
  pieces?: readonly (string | Buffer)[]
  /** The pieces stay in memory anyway (static files): a slow reader takes none. */
  shared?: true
  /**
   * Writes server-sent events to the sink; resolves with the last events when the stream ends. A thrown
   * GatewayError becomes the last event. `isLate`: the head was sent before this answer, so that the last
   * events must have its headers.
   */
  events?: (sink: EventSink, isLate: boolean) => Promise<Buffer | undefined>
  /** Body sent at the speed of the client; `headers` must have the content type. */
  stream?: AsyncIterable<string>
  /** The stream stays open for notifications; it does not count as a running request. */
  staysOpen?: true
  /**
   * Work that goes on after the answer. Until it resolves, the request counts as running and keeps its memory,
   * and the work ends with the key. Never rejects.
   */
  after?: Promise<void>
}

/** The exchange of an answer: `memory` counts the bytes that the client has not read yet. */
type Answered = Pick<CallContext, 'requestId' | 'memory' | 'ending'> & {
  stream?: OpenStream | undefined
}
type SendOptions = {
  streams: ResponseStreams
  /** The JSON is written at once, and the response ends when `requestRead` resolves. */
  requestRead?: Promise<void> | undefined
}

/**
 * Writes an answer. For streams and compressed answers it returns a promise, which resolves at the
 * end of the response, also when the client disconnects earlier.
 */
export function send(
  response: ServerResponse,
  answer: Answer,
  answered: Answered,
  { streams, requestRead }: SendOptions,
): Promise<void> | undefined {
  const { requestId, memory, ending } = answered
  const { status, json, events, stream } = answer
  // Passed to `writeHead` at once: Node validates headers that are set one by one twice.
  // A repeated answer has the id of its first request in `answer.headers`.
  const headers: Record<string, string> = { 'x-request-id': requestId, ...answer.headers }
  // A stream is consumed even if the client has disconnected: its call must be closed and recorded.
  if (events !== undefined) {
    const stream = answered.stream ?? streams.open(response, answered)
    return sendEvents(response, { status, headers, events }, stream)
  }
  if (response.destroyed || response.headersSent) return undefined
  if (stream !== undefined) return sendStream(response, { status, headers, stream }, memory, ending)
  if (json !== undefined) {
    headers['content-type'] = 'application/json'
    const text = typeof json === 'string' ? json : JSON.stringify(json)
    if (answer.mayBeCoded && text.length >= codedBytesMin) {
      return sendCoded(response, status, headers, text, memory)
    }
    sendText(response, status, headers, text, requestRead)
  } else {
    sendPieces(response, status, headers, answer.pieces ?? [])
  }
  // What `after` needs stays counted; the exchange calls it at its end.
  if (answer.shared !== true && answer.after === undefined) holdUnread(response, memory)
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
  // An equal number of bytes and characters means ASCII, which latin1 writes without encoding.
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

/** Higher brotli qualities take ten times as long for output that is a tenth smaller. */
const brotliQuality = 4

async function sendCoded(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  text: string,
  memory: MemoryHold,
): Promise<void> {
  const coding = preferredCoding(response.req.headers['accept-encoding'])
  headers['vary'] = 'accept-encoding'
  const plain = Buffer.from(text)
  const piece = coding === 'identity' ? plain : await encode(plain, coding, brotliQuality)
  if (coding !== 'identity') headers['content-encoding'] = coding
  if (response.destroyed) return
  sendPieces(response, status, headers, [piece])
  holdUnread(response, memory)
}

function sendPieces(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  pieces: readonly (string | Buffer)[],
): void {
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  // For HEAD the length is that of the body of GET.
  if (status !== 204 && status !== 304) headers['content-length'] ??= String(length)
  response.writeHead(status, headers)
  if (pieces.length < 2) {
    response.end(pieces[0])
    return
  }
  // Writes all pieces with one system call.
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
  response.uncork()
}

async function sendEvents(
  response: ServerResponse,
  { status, headers, events }: Required<Pick<Answer, 'status' | 'headers' | 'events'>>,
  stream: OpenStream,
): Promise<void> {
  const isLate = response.headersSent
  const sink = stream.begin(status, headers)
  try {
    const ended = events(sink, isLate)
    // A first event that was written synchronously has already sent the head.
    stream.flush()
    stream.end(await ended)
  } catch (thrown) {
    // A client that has left needs no error.
    if (!response.destroyed || !(thrown instanceof GatewayError)) throw thrown
  } finally {
    stream.close()
  }
}

/** A client that reads nothing for this long is disconnected, also when memory is not short. */
const idleTimeoutMs = 60_000

/**
 * Writes an answer piece by piece, each after the client has read the previous one; the stream stops
 * when the client disconnects. An error before the first piece is answered like any other error. A
 * later error rejects, and the connection must be cut off, because a regular end would mark the answer
 * as complete.
 */
async function sendStream(
  response: ServerResponse,
  { status, headers, stream }: Required<Pick<Answer, 'status' | 'headers' | 'stream'>>,
  memory: MemoryHold,
  { signal }: AbortController,
): Promise<void> {
  const pieces = stream[Symbol.asyncIterator]()
  const cut = () => void response.destroy()
  // Aborted when the API key of the request is revoked or expires.
  signal.addEventListener('abort', cut)
  try {
    let piece = await pieces.next()
    if (response.destroyed) return
    response.writeHead(status, headers)
    if (response.req.method === 'HEAD') return void response.end()
    while (piece.done !== true && !response.destroyed) {
      await write(response, Buffer.from(piece.value), memory)
      if (!response.destroyed) piece = await pieces.next()
    }
    if (response.destroyed) return
    response.end()
    holdUnread(response, memory)
  } finally {
    signal.removeEventListener('abort', cut)
    await pieces.return?.()
  }
}

async function write(response: ServerResponse, bytes: Buffer, memory: MemoryHold): Promise<void> {
  if (response.write(bytes)) return
  memory.grow(bytes.length)
  const unwatch = memory.watch({ ...readerOf(response), idleTimeoutMs })
  const { promise, resolve } = Promise.withResolvers<void>()
  response.once('drain', resolve).once('close', resolve)
  await promise
  response.off('drain', resolve).off('close', resolve)
  unwatch()
  memory.give(bytes.length)
}
