import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Transfer } from '../bytes/memory-ledger.ts'
import type { GatewayError } from '../core/error.ts'
import { originOf } from '../core/networks.ts'

export type Connection = ReturnType<typeof openConnection>

/** The reason for refusing or closing a connection. */
type CloseReason = 'full' | 'address' | 'pipelined' | 'untaken' | 'evicted'

export type TableOptions = {
  limits: {
    connectionsMax: number
    connectionsPerAddressMax: number
    answerTimeoutMs: number
    lingerTimeoutMs: number
  }
  /** Called periodically, with the connections that are open, and closed since the last call. */
  onSweep: (open: number, closed: ReadonlyMap<CloseReason, number>) => void
  monotonic: () => number
}

/** Idle time before a connection may be closed, since its first request may still be in transit. */
const evictableAfterMs = 1000
/** Each search for idle connections is a scan, so it closes several connections and then pauses. */
const evictedAtOnceMax = 16
const evictingPauseMs = 100
const [sweepMsMin, sweepMsMax] = [10, 1000]

/** The open connections. */
export type ConnectionTable = ReturnType<typeof createConnectionTable>

/** Creates the table. One timer serves all connections, so that no response needs its own timer. */
export function createConnectionTable({ limits, onSweep, monotonic }: TableOptions) {
  const { connectionsMax, connectionsPerAddressMax, answerTimeoutMs, lingerTimeoutMs } = limits
  const open = new Map<Socket, Connection>()
  const closed = new Map<CloseReason, number>()
  const origins = createCounts()
  const count = (reason: CloseReason) => closed.set(reason, (closed.get(reason) ?? 0) + 1)
  const forget = ({ socket, origin }: Connection): void => {
    if (open.delete(socket)) origins.remove(origin)
  }
  const cut = (connection: Connection, reason: CloseReason): void => {
    count(reason)
    forget(connection)
    connection.socket.destroy()
  }
  const evict = createEvict({ open, cut, monotonic })
  const missingRoom = (origin: string): 'full' | 'address' | undefined => {
    const isBounded = connectionsPerAddressMax > 0
    if (isBounded && origins.of(origin) >= connectionsPerAddressMax && !evict(origin))
      return 'address'
    return open.size >= connectionsMax && !evict() ? 'full' : undefined
  }
  const sweep = () => {
    const nowMs = monotonic()
    for (const connection of open.values()) {
      settle(connection, nowMs)
      if (nowMs >= connection.closesAtMs) connection.socket.destroy()
      else if (untakenMs(connection, nowMs) >= answerTimeoutMs) cut(connection, 'untaken')
    }
    onSweep(open.size, closed)
    closed.clear()
  }
  const pauseMs = Math.min(answerTimeoutMs / 4, lingerTimeoutMs / 4, sweepMsMax)
  const timer = setInterval(sweep, Math.max(pauseMs, sweepMsMin)).unref()
  return {
    get: (socket: Socket) => open.get(socket),
    /** Adds a connection. Returns the exceeded limit, if there is one. */
    add: (socket: Socket) => {
      const connection = openConnection(socket, monotonic())
      const missing = missingRoom(connection.origin)
      if (missing !== undefined) count(missing)
      open.set(socket, connection)
      origins.add(connection.origin)
      socket.once('close', () => forget(connection))
      return { connection, missing }
    },
    /** Counts a connection that Node dropped because of `maxConnections`. */
    countDropped: () => void count('full'),
    /** Destroys a connection. */
    cut,
    /** Closes idle connections on which no byte has moved for `quietMs`. */
    closeIdle: (quietMs: number) => {
      const nowMs = monotonic()
      for (const connection of open.values()) {
        settle(connection, nowMs)
        const isQuiet = nowMs - connection.movedAtMs >= quietMs
        if (isQuiet && isIdle(connection) && !isAsking(connection)) connection.socket.destroy()
      }
    },
    closeAll: () => {
      for (const socket of open.keys()) socket.destroy()
    },
    /** Stops the timer. */
    stop: () => clearInterval(timer),
  }
}

/** Counts by name, without names of count 0. */
function createCounts() {
  const counts = new Map<string, number>()
  const of = (name: string) => counts.get(name) ?? 0
  return {
    of,
    add: (name: string) => void counts.set(name, of(name) + 1),
    remove: (name: string) => {
      if (of(name) > 1) counts.set(name, of(name) - 1)
      else counts.delete(name)
    },
  }
}

type Evicting = Pick<ConnectionTable, 'cut'> &
  Pick<TableOptions, 'monotonic'> & { open: ReadonlyMap<Socket, Connection> }

/** Closes refused and idle connections, of all origins or of one. Returns whether it closed any. */
function createEvict({ open, cut, monotonic }: Evicting): (origin?: string) => boolean {
  let againAtMs = 0
  return (origin) => {
    const nowMs = monotonic()
    if (nowMs < againAtMs) return false
    let evicted = 0
    for (const connection of open.values()) {
      if (origin !== undefined && connection.origin !== origin) continue
      settle(connection, nowMs)
      const isUnused = isIdle(connection) && nowMs - connection.idleSinceMs >= evictableAfterMs
      if (!isUnused && connection.closesAtMs === Infinity) continue
      cut(connection, 'evicted')
      if (++evicted === evictedAtOnceMax) break
    }
    if (evicted === 0) againAtMs = nowMs + evictingPauseMs
    return evicted > 0
  }
}

/** An open client connection. Times are milliseconds of the monotonic clock. */
function openConnection(socket: Socket, nowMs: number) {
  return {
    socket,
    /** The client network by which connections are counted. */
    origin: originOf(socket.remoteAddress ?? null),
    /** The current response; `settle` removes it after it has been delivered. */
    response: undefined as ServerResponse | undefined,
    /** Pipelined requests that wait for earlier responses (RFC 9112 section 9.3.2). */
    waiting: 0,
    /** The time since which no request is in progress, and the bytes read by then. */
    idleSinceMs: nowMs,
    idleBytesRead: 0,
    /** Response bytes that the kernel had accepted at the last progress, and its time. */
    bytesTaken: 0,
    takenAtMs: nowMs,
    /** Bytes read and written at the last progress, and its time. */
    bytesMoved: 0,
    movedAtMs: nowMs,
    /** The time at which the connection is closed in any case; further input is discarded. */
    closesAtMs: Infinity,
    /** An error that is sent after the earlier responses. */
    refusal: undefined as GatewayError | undefined,
  }
}

/** Removes a delivered response and records whether bytes have moved. */
function settle(connection: Connection, nowMs: number): void {
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

/** Whether no request is in progress, as of the last `settle`. */
function isIdle({ socket, response, waiting }: Connection): boolean {
  return response === undefined && waiting === 0 && socket.writableLength === 0
}

/** Whether part of a request head has arrived, as of the last `settle`. */
function isAsking({ socket, response, idleBytesRead }: Connection): boolean {
  return response === undefined && socket.bytesRead !== idleBytesRead
}

/** Milliseconds since the client last accepted response bytes. */
function untakenMs(connection: Connection, nowMs: number): number {
  const { socket } = connection
  const handle = socket.writableLength === 0 ? undefined : handleOf(socket)
  const bytesTaken = handle === undefined ? -1 : handle.bytesWritten - handle.writeQueueSize
  if (bytesTaken === -1 || bytesTaken !== connection.bytesTaken) {
    connection.bytesTaken = bytesTaken
    connection.takenAtMs = nowMs
  }
  return nowMs - connection.takenAtMs
}

/**
 * The handle of a socket, the only place that shows the progress of one large write; undefined for a destroyed
 * socket. Node's socket timeouts read the same member, which has no public name.
 */
function handleOf(
  socket: Socket | null,
): { bytesWritten: number; writeQueueSize: number } | undefined {
  const { _handle: handle } = (socket ?? {}) as { _handle?: ReturnType<typeof handleOf> | null }
  return handle ?? undefined
}

/** Counts the bytes of a complete answer that the client has not read as held memory. */
export function holdUnread(response: ServerResponse, memory: MemoryHold): void {
  const bytes = response.writableLength
  memory.retain(bytes)
  if (bytes > 0) memory.watch(readerOf(response))
}

/** The reader of a response; `cut` closes the connection. */
export function readerOf(response: ServerResponse): Transfer {
  return {
    // `writableLength` counts the current write as a whole, also what the kernel has accepted of it.
    moved: () => response.writableLength + (handleOf(response.socket)?.writeQueueSize ?? 0),
    cut: () => void response.destroy(),
  }
}
