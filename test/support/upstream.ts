import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** One answer of a scripted upstream. */
export type ScriptedAnswer = {
  status?: number
  headers?: Record<string, string>
  /** The body; an object is sent as JSON, everything else unchanged. */
  body?: object | string | Buffer
  /** Pieces of the body, each sent as a separate write, as fast as the client reads. */
  pieces?: Iterable<string | Buffer> | AsyncIterable<string | Buffer>
  /** The answer waits for this promise. */
  after?: Promise<unknown>
  /** Delay before the answer. */
  delayMs?: number
  /** Never answers; with pieces, never ends. */
  hang?: boolean
  /** Breaks the connection before the head, or after the body. */
  reset?: 'before' | 'after'
}
/** A request that the upstream received. */
export type ReceivedRequest = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The parsed JSON body, or its text when it is not JSON. */
  body: unknown
  bytes: Buffer
  /** Whether the gateway closed the connection before the answer was complete. */
  aborted: boolean
  /** Resolves when the answer has ended, complete or not. */
  closed: Promise<void>
  /** Number of bytes of the answer written so far. */
  bytesSent: number
}

/** A server that answers as a test prescribes, and records its requests. */
export type Upstream = {
  url: string
  requests: ReceivedRequest[]
  /** Sets the answer of all further requests, or a function that returns it. */
  answer(
    script: ScriptedAnswer | ((request: ReceivedRequest, index: number) => ScriptedAnswer),
  ): void
  stop(): Promise<void>
}

/**
 * Starts an upstream on a free loopback port.
 *
 * @example
 * const upstream = await startUpstream()
 * upstream.answer({ status: 503, headers: { 'retry-after': '1' } })
 * const variables = { OPENAI_API_KEY: 'sk-test-0123', OPENAI_BASE_URL: upstream.url }
 * await using gateway = await startGateway({ variables })
 */
export async function startUpstream(): Promise<Upstream> {
  const requests: ReceivedRequest[] = []
  let script: (request: ReceivedRequest, index: number) => ScriptedAnswer = () => ({ status: 500 })
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy())
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = Promise.withResolvers<void>()
    const received = await receive(request, closed.promise)
    requests.push(received)
    response.once('close', () => {
      received.aborted = !response.writableFinished
      closed.resolve()
    })
    // Hosts with an integrity check refuse requests without the name and version of a program.
    const isNamed = /^[\w-]+\/\d/.test(received.headers['user-agent'] ?? '')
    const answer = isNamed ? script(received, requests.length - 1) : { status: 403 }
    await play(answer, response, received)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer: (next) => {
      requests.length = 0
      script = typeof next === 'function' ? next : () => next
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function receive(request: IncomingMessage, closed: Promise<void>): Promise<ReceivedRequest> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const bytes = Buffer.concat(pieces)
  const body = parse(bytes.toString())
  const { method = '', url: path = '', headers } = request
  return { method, path, headers, body, bytes, aborted: false, closed, bytesSent: 0 }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function play(
  answer: ScriptedAnswer,
  response: ServerResponse,
  received: ReceivedRequest,
): Promise<void> {
  const { status = 200, headers, body = '', pieces, after, delayMs, hang, reset } = answer
  if (hang && pieces === undefined) return
  await after
  if (delayMs !== undefined) await sleep(delayMs)
  if (reset === 'before') return void response.destroy()
  const json = typeof body === 'object' && !Buffer.isBuffer(body)
  response.writeHead(status, {
    'content-type': pieces ? 'text/event-stream' : json ? 'application/json' : 'text/plain',
    ...headers,
  })
  for await (const piece of pieces ?? []) {
    if (response.destroyed) return
    received.bytesSent += piece.length
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), received.closed])
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (hang) return
  if (reset === 'after') {
    response.write(json ? JSON.stringify(body) : body)
    await new Promise((resolve) => setImmediate(resolve))
    return void response.destroy()
  }
  response.end(json ? JSON.stringify(body) : body)
}
