import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** An open connection to a gateway, for what no HTTP client would send. */
export async function openConnection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  // A connection that the gateway cuts is what some tests are about.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Sends bytes as they are, and gives everything that comes back until the connection is closed. */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<string> {
  const socket = await openConnection(url)
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(pieces).toString()
}

/** The head of a POST with a JSON body. */
export function postHead(path: string, key: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({
    host: 'gateway',
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
