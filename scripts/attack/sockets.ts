import { once } from 'node:events'
import type { Socket } from 'node:net'
import { openConnection } from '../../test/support/raw-connection.ts'
import type { Failure } from './attack.ts'

/** Opens connections, writes the same bytes on each connection, and reads nothing. */
export async function openUnread(
  url: string,
  count: number,
  bytes: Buffer | string,
): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = await openConnection(url)
      socket.pause()
      socket.write(bytes)
      return socket
    }),
  )
}

export function destroyAll(sockets: readonly Socket[]): Failure[] {
  for (const socket of sockets) socket.destroy()
  return []
}

/** The connections that the gateway has not closed after `limitMs`; discards received bytes. */
export async function stillOpen(sockets: readonly Socket[], limitMs: number): Promise<Socket[]> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(), limitMs)
  await Promise.allSettled(
    sockets.map(async (socket) => {
      socket.resume()
      if (!socket.closed) await once(socket, 'close', { signal: over.signal })
    }),
  )
  clearTimeout(timer)
  return sockets.filter((socket) => !socket.closed)
}
