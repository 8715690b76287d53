import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { text } from 'node:stream/consumers'
import { freePort } from '../../scripts/free-port.ts'
import type { PublicNet } from '../../src/pictures/guarded-fetch.ts'
import { isPublicAddress } from '../../src/core/public-address.ts'

const key = readFileSync(new URL('public-host-key-for-tests.pem', import.meta.url), 'utf8')
const cert = readFileSync(new URL('public-host-certificate-for-tests.pem', import.meta.url), 'utf8')

// A loopback address that a gateway started with `net` treats as public.
const publicAddress = '127.0.0.2'
const insideAddress = '127.0.0.1'

type Script = (response: ServerResponse, path: string) => void

/** A simulated internet: a name server, a public server, and a private server that no request may reach. */
export type PublicHost = {
  net: PublicNet
  port: number
  /** A URL on the public server, with a host name that resolves to it. */
  address(path: string, name?: string): string
  /** Sets the answer for a path; other paths get 404. */
  serve(path: string, script: Script | Buffer): void
  /** Requests that the public server received. */
  requests: { path: string; headers: Record<string, string>; body: string }[]
  /** Number of connections to the private and to the public server. */
  insideConnections(): number
  publicConnections(): number
  /** Sets the addresses of a name; several answers are used in turn. */
  resolve(name: string, ...answers: string[][]): void
  reset(): void
  stop(): Promise<void>
}

/**
 * Starts the public and the private server.
 *
 * @example
 * const host = await startPublicHost()
 * host.serve('/fox.png', picture)
 * host.resolve('pictures.example', ['10.0.0.1'])
 * await using gateway = await startGateway({ publicNet: host.net })
 */
export async function startPublicHost(): Promise<PublicHost> {
  const scripts = new Map<string, Script | Buffer>()
  const names = new Map<string, string[][]>()
  const requests: PublicHost['requests'] = []
  const connections = { inside: 0, public: 0 }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { url: path = '', headers } = request
    const body = await text(request).catch(() => '')
    // No header that a client sends once is a list.
    requests.push({ path, headers: headers as Record<string, string>, body })
    // Hosts with an integrity check refuse requests without the header.
    if (headers['user-agent'] === undefined) return response.writeHead(403).end()
    const script = scripts.get(path)
    if (script === undefined) return response.writeHead(404).end()
    return Buffer.isBuffer(script) ? response.end(script) : script(response, path)
  }
  const outside = createServer({ key, cert }, (...exchange) => void answer(...exchange))
  const port = await freePort()
  await listen(outside, publicAddress, port)
  // The private server has the public server's port and certificate, so that a forbidden request succeeds.
  const inside = createServer({ key, cert }, secret)
  await listen(inside, insideAddress, port)
  outside.on('connection', () => connections.public++)
  inside.on('connection', () => connections.inside++)

  const lookUp = (name: string): string[] => {
    const answers = names.get(name)
    if (answers === undefined) return name.endsWith('.example') ? [publicAddress] : [insideAddress]
    return answers.length > 1 ? answers.shift()! : answers[0]!
  }
  return {
    port,
    net: {
      port,
      ca: cert,
      isPublic: (address) => address === publicAddress || isPublicAddress(address),
      lookup: (name, _options, callback) => {
        const found = lookUp(name)
        const family = (address: string) => (address.includes(':') ? 6 : 4)
        setImmediate(() =>
          callback(
            null,
            found.map((address) => ({ address, family: family(address) })),
          ),
        )
      },
    },
    address: (path, name = 'pictures.public.example') => `https://${name}:${port}${path}`,
    serve: (path, script) => void scripts.set(path, script),
    requests,
    insideConnections: () => connections.inside,
    publicConnections: () => connections.public,
    resolve: (name, ...answers) => void names.set(name, answers),
    reset: () => {
      scripts.clear()
      names.clear()
      requests.length = 0
      connections.inside = 0
      connections.public = 0
    },
    stop: async () => {
      for (const server of [outside, inside]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
}

const secret: RequestListener = (_request, response) => void response.end('a secret')

async function listen(server: Server, address: string, port: number): Promise<void> {
  server.listen(port, address)
  await once(server, 'listening')
}
