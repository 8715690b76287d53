import type { LookupFunction, Socket } from 'node:net'
import { Agent, buildConnector, request as send } from 'undici'

/** The name of `doctor --connect` in its requests; a simulated client has its own `User-Agent`. */
export const clientInfo = { name: 'connection-check', version: '1' }
const ownHeaders = { 'user-agent': `${clientInfo.name}/${clientInfo.version}` }

/** Overrides for tests: name resolution, the trusted CA, and the timeout of a request. */
export type Net = {
  ca?: string
  lookup?: LookupFunction
  askTimeoutMs?: number
}

export type Ask = {
  method: string
  url: URL
  headers?: Readonly<Record<string, string>>
  body?: string
}

/** An answer; its body is truncated to `bodyBytesMax`, and header names are in lower case. */
export type Answer = {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}
/** A request without an answer: an error code of the system, of TLS or of undici, or `timeout`. */
export type NoAnswer = { errorCode: string }

/** The IP address of the server of the last connection. */
export type ServerAddress = { address: string | undefined }

export type Requester = ReturnType<typeof openRequester>

/** When the chunks of a stream arrived, and when the stream ended; undefined if it did not end. */
export type Watched = {
  status: number
  headers: Readonly<Record<string, string>>
  piecesMs: readonly number[]
  endedMs: number | undefined
}

/** The timeout of the strictest client (docs/connect.md#what-each-client-needs). */
export const patienceMs = 10_000
// These limits are constants, since `doctor --connect` runs without the settings of a gateway.
const bodyBytesMax = 256 * 1024
const headerBytesMax = 32 * 1024
const connectionsMax = 4
const piecesMax = 100

/** Sends requests to one origin; `isTrusting` accepts any certificate, so no secret may be sent. */
export function openRequester(net: Net, { isTrusting }: { isTrusting: boolean }) {
  const timeoutMs = net.askTimeoutMs ?? patienceMs
  const server: ServerAddress = { address: undefined }
  const agent = new Agent({
    connections: connectionsMax,
    connect: recordingAddress(net, { isTrusting, timeoutMs }, server),
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: headerBytesMax,
  })
  const open = ({ method, url, headers, body }: Ask, signal: AbortSignal) =>
    send(url, {
      dispatcher: agent,
      method: method as 'GET',
      signal,
      headers: { ...ownHeaders, ...headers },
      ...(body === undefined ? {} : { body }),
    })
  return {
    /** Sends one request, limits the size and time of its answer, and follows no redirect. Never throws. */
    ask: async (ask: Ask): Promise<Answer | NoAnswer> => {
      try {
        const { statusCode, headers, body } = await open(ask, AbortSignal.timeout(timeoutMs))
        return { status: statusCode, headers: plain(headers), body: await textOf(body) }
      } catch (error) {
        return { errorCode: reasonOf(error) }
      }
    },
    /** Opens a stream and watches it for `holdMs` at most. */
    watch: async (ask: Ask, holdMs: number): Promise<Watched | NoAnswer> => {
      const started = performance.now()
      const end = new AbortController()
      const late = setTimeout(() => end.abort(new Error('late')), timeoutMs)
      try {
        const { statusCode, headers, body } = await open(ask, end.signal)
        clearTimeout(late)
        const times = await watchStream(body, { holdMs, started, end })
        return { status: statusCode, headers: plain(headers), ...times }
      } catch (error) {
        return { errorCode: end.signal.aborted ? 'timeout' : reasonOf(error) }
      } finally {
        clearTimeout(late)
      }
    },
    peer: () => server,
    close: () => agent.destroy(),
  }
}

function recordingAddress(
  { ca, lookup }: Net,
  { isTrusting, timeoutMs }: { isTrusting: boolean; timeoutMs: number },
  server: ServerAddress,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: !isTrusting,
    ...(ca === undefined ? {} : { ca }),
    ...(lookup === undefined ? {} : { lookup }),
  })
  return (options, callback) =>
    connect(options, (...found) => {
      // The socket is undefined after an error.
      const socket = found[1] as Socket | null | undefined
      server.address = socket?.remoteAddress ?? server.address
      callback(...found)
    })
}

type StreamWatch = { holdMs: number; started: number; end: AbortController }

async function watchStream(body: AsyncIterable<Buffer>, { holdMs, started, end }: StreamWatch) {
  const piecesMs: number[] = []
  const enough = setTimeout(() => end.abort(new Error('enough')), holdMs)
  let endedMs: number | undefined
  try {
    for await (const _ of body)
      if (piecesMs.length < piecesMax) piecesMs.push(performance.now() - started)
    endedMs = performance.now() - started
  } catch {
    if (!end.signal.aborted) endedMs = performance.now() - started
  } finally {
    clearTimeout(enough)
    end.abort(new Error('enough'))
  }
  return { piecesMs, endedMs }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > bodyBytesMax) break
  }
  return Buffer.concat(pieces).subarray(0, bodyBytesMax).toString('utf8')
}

function plain(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
}

function reasonOf(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: unknown }
  if (name === 'TimeoutError' || code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout'
  const inner = (cause as { code?: string } | undefined)?.code
  return inner ?? code ?? name ?? 'unknown'
}

/** Whether a request got no answer. */
export function hasNoAnswer(response: Answer | Watched | NoAnswer): response is NoAnswer {
  return 'errorCode' in response
}
