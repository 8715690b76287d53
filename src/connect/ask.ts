import type { LookupFunction, Socket } from 'node:net'
import { Agent, buildConnector, request as send } from 'undici'

/** What is overridden in tests: name resolution, the trusted CA, and how long is waited. */
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

/** An answer, whose body is cut at `bodyBytesMax`; names of headers are in lower case. */
export type Answer = {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
  durationMs: number
}
/** No answer; `code` is that of the system, of TLS or of the client, `timeout` when it took too long. */
export type Silence = { silent: string }

/** What the last connection told of the other end. */
export type Peer = { address: string | undefined }

export type Line = {
  /** Asks once, with bounds on all that comes, and follows nothing. Never throws. */
  ask(ask: Ask): Promise<Answer | Silence>
  /** Opens an answer that does not end, and watches it for `holdMs` at most. */
  watch(ask: Ask, holdMs: number): Promise<Watched | Silence>
  peer(): Peer
  close(): Promise<void>
}

/** What came over a stream, and when: the time of each piece, and of its end if it ended. */
export type Watched = {
  status: number
  headers: Readonly<Record<string, string>>
  piecesMs: readonly number[]
  endedMs: number | undefined
}

/** How long the strictest of the clients waits (docs/connect.md#what-each-client-needs). */
export const patienceMs = 10_000
// The rest are constants of whoever looks at a gateway from outside, where there are no settings.
const bodyBytesMax = 256 * 1024
const headerBytesMax = 32 * 1024
const connectionsMax = 4
const piecesMax = 100

/** A line to one origin; `isTrusting` takes any certificate, for which no secret may be sent. */
export function openLine(net: Net, { isTrusting }: { isTrusting: boolean }): Line {
  const timeoutMs = net.askTimeoutMs ?? patienceMs
  const peer: Peer = { address: undefined }
  const agent = new Agent({
    connections: connectionsMax,
    connect: noting(net, { isTrusting, timeoutMs }, peer),
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: headerBytesMax,
  })
  const open = ({ method, url, headers, body }: Ask, signal: AbortSignal) =>
    send(url, {
      dispatcher: agent,
      method: method as 'GET',
      signal,
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
    })
  return {
    ask: async (ask) => {
      const started = performance.now()
      try {
        const { statusCode, headers, body } = await open(ask, AbortSignal.timeout(timeoutMs))
        const text = await textOf(body)
        const durationMs = performance.now() - started
        return { status: statusCode, headers: plain(headers), body: text, durationMs }
      } catch (error) {
        return { silent: reasonOf(error) }
      }
    },
    watch: async (ask, holdMs) => {
      const started = performance.now()
      const end = new AbortController()
      const late = setTimeout(() => end.abort(new Error('late')), timeoutMs)
      try {
        const { statusCode, headers, body } = await open(ask, end.signal)
        clearTimeout(late)
        const held = await hold(body, { holdMs, started, end })
        return { status: statusCode, headers: plain(headers), ...held }
      } catch (error) {
        return { silent: end.signal.aborted ? 'timeout' : reasonOf(error) }
      } finally {
        clearTimeout(late)
      }
    },
    peer: () => peer,
    close: () => agent.destroy(),
  }
}

function noting(
  { ca, lookup }: Net,
  { isTrusting, timeoutMs }: { isTrusting: boolean; timeoutMs: number },
  peer: Peer,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    rejectUnauthorized: !isTrusting,
    ...(ca === undefined ? {} : { ca }),
    ...(lookup === undefined ? {} : { lookup }),
  })
  return (options, callback) =>
    connect(options, (...found) => {
      // Undefined beside an error.
      const socket = found[1] as Socket | null | undefined
      peer.address = socket?.remoteAddress ?? peer.address
      callback(...found)
    })
}

type Held = { holdMs: number; started: number; end: AbortController }

async function hold(body: AsyncIterable<Buffer>, { holdMs, started, end }: Held) {
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

/** The code of an error, or of what caused it. */
function reasonOf(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: unknown }
  if (name === 'TimeoutError' || code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout'
  const inner = (cause as { code?: string } | undefined)?.code
  return inner ?? code ?? name ?? 'unknown'
}

/** Whether there was no answer. */
export function isSilent(told: Answer | Watched | Silence): told is Silence {
  return 'silent' in told
}
