import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Opens a TCP connection to a gateway, for bytes that no HTTP client sends. */
export async function openConnection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  // Ignores a broken connection, which some tests cause on purpose.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/**
 * Sends bytes unchanged, and returns everything received until the connection is closed.
 *
 * @example
 * expect(await sendRaw(gateway.url, 'GET / HTTP/3.0\r\n\r\n')).to.match(/^HTTP\/1.1 505 /)
 */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<string> {
  const socket = await openConnection(url)
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(pieces).toString()
}

/** Request line and headers of a POST with a JSON body. */
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
