import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { GatewayError } from '../core/error.ts'
import { originOf } from '../core/networks.ts'

/** An open connection of a caller. Times are those of the monotonic clock, in milliseconds. */
export type Connection = {
  readonly socket: Socket
  /** What callers are counted by. */
  readonly origin: string
  /** The answer under way; `settle` forgets it when it has been delivered. */
  response: ServerResponse | undefined
  /** Requests that wait for the answers before them (RFC 9112 section 9.3.2). */
  waiting: number
  /** Since when no request is under way, and what had been read by then. */
  idleSinceMs: number
  idleBytesRead: number
  /** What the system had taken of the answers when it was last seen to take something. */
  bytesTaken: number
  takenAtMs: number
  /** What had been read and written in all when that was last seen to change. */
  bytesMoved: number
  movedAtMs: number
  /** When it is closed whatever happens; nothing is read from it as a request any more. */
  closesAtMs: number
  /** Told once the answers before it have been delivered. */
  refusal: GatewayError | undefined
}

export function openConnection(socket: Socket, nowMs: number): Connection {
  return {
    socket,
    origin: originOf(socket.remoteAddress ?? null),
    response: undefined,
    waiting: 0,
    idleSinceMs: nowMs,
    idleBytesRead: 0,
    bytesTaken: 0,
    takenAtMs: nowMs,
    bytesMoved: 0,
    movedAtMs: nowMs,
    closesAtMs: Infinity,
    refusal: undefined,
  }
}

/** Forgets an answer that has been delivered, and notes whether bytes have moved. */
export function settle(connection: Connection, nowMs: number): void {
  const { socket, response } = connection
  if (response?.destroyed === true) {
    connection.response = undefined
    connection.idleSinceMs = nowMs
    connection.idleBytesRead = socket.bytesRead
  }
  const bytesMoved = socket.bytesRead + socket.bytesWritten
  if (bytesMoved !== connection.bytesMoved) {
    connection.bytesMoved = bytesMoved
    connection.movedAtMs = nowMs
  }
}

/** Whether no request is under way, as of the last `settle`. */
export function isIdle({ socket, response, waiting }: Connection): boolean {
  return response === undefined && waiting === 0 && socket.writableLength === 0
}

/** Whether a part of a request's head is there, as of the last `settle`. */
export function isAsking({ socket, response, idleBytesRead }: Connection): boolean {
  return response === undefined && socket.bytesRead !== idleBytesRead
}

/** How long its client has taken nothing of what waits for it. */
export function untakenMs(connection: Connection, nowMs: number): number {
  const { socket } = connection
  const bytesTaken = socket.writableLength === 0 ? -1 : bytesTakenOf(socket)
  if (bytesTaken === -1 || bytesTaken !== connection.bytesTaken) {
    connection.bytesTaken = bytesTaken
    connection.takenAtMs = nowMs
  }
  return nowMs - connection.takenAtMs
}

type Handle = { bytesWritten: number; writeQueueSize: number }

/**
 * Of one large write only the handle tells how far it has come. Node's own timeout of sockets looks
 * at the same member, but takes what a client sends for progress too.
 */
function bytesTakenOf(socket: Socket): number {
  // Node's types leave the handle out; a socket that is destroyed has none.
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : -1
}
