import type { ServerResponse } from 'node:http'
import type { Hold } from '../bytes/budget.ts'
import { holdUnread, readerOf } from './unread.ts'

/** For how long a client may read nothing, though nobody needs the memory. */
const idleTimeoutMs = 60_000

type Streamed = {
  status: number
  headers: Record<string, string>
  stream: AsyncIterable<string>
  /** Holds what the client has not read yet. */
  hold: Hold
  /** Aborted when the request's key ends. */
  ending: AbortSignal | undefined
}

/**
 * Writes an answer piece by piece, each when the client has taken the one before; one who leaves ends
 * it. A failure before the first piece rejects and is answered as any other. One behind it rejects too,
 * and the connection has to be cut off: an end would say that the answer is whole.
 */
export async function sendStream(
  response: ServerResponse,
  { status, headers, stream, hold, ending }: Streamed,
): Promise<void> {
  const pieces = stream[Symbol.asyncIterator]()
  const cut = () => void response.destroy()
  ending?.addEventListener('abort', cut)
  try {
    let piece = await pieces.next()
    if (response.destroyed) return
    response.writeHead(status, headers)
    if (response.req.method === 'HEAD') return void response.end()
    while (piece.done !== true && !response.destroyed) {
      await write(response, Buffer.from(piece.value), hold)
      if (!response.destroyed) piece = await pieces.next()
    }
    if (response.destroyed) return
    response.end()
    holdUnread(response, hold)
  } finally {
    ending?.removeEventListener('abort', cut)
    await pieces.return?.()
  }
}

async function write(response: ServerResponse, bytes: Buffer, hold: Hold): Promise<void> {
  if (response.write(bytes)) return
  hold.grow(bytes.length)
  const unwatch = hold.watch({ ...readerOf(response), idleTimeoutMs })
  const { promise, resolve } = Promise.withResolvers<void>()
  response.once('drain', resolve).once('close', resolve)
  await promise
  response.off('drain', resolve).off('close', resolve)
  unwatch()
  hold.give(bytes.length)
}
