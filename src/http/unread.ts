import type { ServerResponse } from 'node:http'
import type { Hold } from '../bytes/budget.ts'
import type { Peer } from '../bytes/books.ts'

/** Holds from now on what a client has not read of an answer that was written as a whole. */
export function holdUnread(response: ServerResponse, hold: Hold): void {
  const bytes = response.writableLength
  hold.keep(bytes)
  if (bytes > 0) hold.watch(readerOf(response))
}

/** The client of an answer, who is cut off like one who leaves. */
export function readerOf(response: ServerResponse): Peer {
  return {
    moved: () => response.writableLength + beingWritten(response),
    cut: () => void response.destroy(),
  }
}

/**
 * What the system has still to take of one large write, which counts as a whole in `writableLength`.
 * Node's own time limits of sockets read it there too, and have no public name for it.
 */
function beingWritten({ socket }: ServerResponse): number {
  const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
