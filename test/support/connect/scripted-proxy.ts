import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import {
  createServer,
  request as send,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'

const certificate = (part: string) =>
  readFileSync(new URL(`../public-host-${part}-for-tests.pem`, import.meta.url), 'utf8')
export const certificates = { key: certificate('key'), cert: certificate('certificate') }

/** Modifications that a proxy makes. */
export type Script = {
  /** Answers a request in place of the server; returns false to forward the request. */
  instead?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Changes the headers of a forwarded request. */
  request?: (headers: Record<string, unknown>, request: IncomingMessage) => void
  /** Changes status and headers of an answer. */
  head?: (
    head: { status: number; headers: Record<string, unknown> },
    request: IncomingMessage,
    sent: string,
  ) => void
  /** Changes the body of an answer that is no event stream. */
  text?: (body: string, request: IncomingMessage, sent: string) => string
  /** Buffers an event stream, or closes the stream's connection after a time. */
  stream?: 'buffered' | { cutAfterMs: number }
}

export type ScriptedProxy = {
  url: string
  /** URL of the proxied server. */
  upstream: string
  script: Script
  requests: { method: string; path: string; headers: IncomingMessage['headers'] }[]
  stop(): Promise<void>
}

/** Starts a reverse proxy on loopback, with TLS on request. */
export async function startScriptedProxy(
  upstream: string,
  { isEncrypted = false } = {},
): Promise<ScriptedProxy> {
  const proxy: ScriptedProxy = {
    url: '',
    upstream,
    script: {},
    requests: [],
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const listener: RequestListener = (request, response) => pass(proxy, request, response)
  const server = isEncrypted ? createSecureServer(certificates, listener) : createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  proxy.url = `${isEncrypted ? 'https' : 'http'}://127.0.0.1:${port}`
  return proxy
}

function pass(
  { upstream, script, requests }: ScriptedProxy,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = '', url: path = '' } = request
  requests.push({ method, path, headers: { ...request.headers } })
  if (script.instead?.(request, response) === true) {
    request.resume()
    return
  }
  const headers: Record<string, unknown> = { ...request.headers }
  script.request?.(headers, request)
  let sent = ''
  request.on('data', (piece: Buffer) => {
    if (sent.length < 10_000) sent += piece.toString()
  })
  const out = send(
    upstream + path,
    { method, headers: headers as Record<string, string> },
    (answer) => {
      const head = {
        status: answer.statusCode!,
        headers: { ...answer.headers } as Record<string, unknown>,
      }
      script.head?.(head, request, sent)
      if (String(answer.headers['content-type']).startsWith('text/event-stream')) {
        return passStream({ script, head, answer, response })
      }
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('end', () => {
        const body = Buffer.concat(pieces).toString()
        const changed = script.text?.(body, request, sent) ?? body
        delete head.headers['content-length']
        delete head.headers['transfer-encoding']
        response.writeHead(head.status, head.headers as Record<string, string>).end(changed)
      })
    },
  )
  out.on('error', () => response.destroy())
  response.on('close', () => out.destroy())
  request.pipe(out)
}

type Passing = {
  script: Script
  head: { status: number; headers: Record<string, unknown> }
  answer: IncomingMessage
  response: ServerResponse
}

function passStream({ script: { stream }, head, answer, response }: Passing): void {
  response.writeHead(head.status, head.headers as Record<string, string>)
  if (stream === 'buffered') return response.flushHeaders()
  answer.on('error', () => response.destroy())
  answer.pipe(response)
  if (stream !== undefined) setTimeout(() => response.end(), stream.cutAfterMs)
}
