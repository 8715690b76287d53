import { createServer, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool, type Dispatcher } from 'undici'

// A minimal proxy in Node, the baseline of the gateway: node:http in, one Buffer for the body,
// Pool.dispatch out, and the answer's bytes written through unchanged.

const [upstream] = process.argv.slice(2)
if (!upstream) throw new Error('Usage: node floor.ts <upstream origin>.')

const pool = new Pool(upstream)
const passedHeaders = ['content-type', 'content-length']
const headers = { 'content-type': 'application/json' }

// Ignores back-pressure, since an answer is at most 8 MiB and the driver reads as fast as possible.
const writeThrough = (response: ServerResponse): Dispatcher.DispatchHandler => ({
  onRequestStart: () => {},
  onResponseStart: (_controller, status, answerHeaders) => {
    const answerHead: OutgoingHttpHeaders = {}
    for (const name of passedHeaders) {
      const value = answerHeaders[name]
      if (value) answerHead[name] = value
    }
    response.writeHead(status, answerHead)
  },
  onResponseData: (_controller, piece) => void response.write(piece),
  onResponseEnd: () => void response.end(),
  onResponseError: (_controller, error) => void response.destroy(error),
})

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = Buffer.concat(parts)
    const path = request.url ?? '/'
    pool.dispatch({ method: 'POST', path, headers, body }, writeThrough(response))
  })
})

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
