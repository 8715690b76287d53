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

/** Why the gateway refused a connection, or closed it before its time. */
export type CloseReason = 'full' | 'address' | 'pipelined' | 'untaken' | 'evicted'

export type TableOptions = {
  limits: {
    connectionsMax: number
    connectionsPerAddressMax: number
    answerTimeoutMs?: number
    lingerTimeoutMs?: number
  }
  /** From time to time: how many are open, and how many were closed since the last time. */
  onSweep: (open: number, closed: ReadonlyMap<CloseReason, number>) => void
  monotonic: () => number
}

/** The open connections. */
export type ConnectionTable = {
  get(socket: Socket): Connection | undefined
  /** Adds a connection; gives the reason if there is no room for it. */
  add(socket: Socket): { connection: Connection; missing: 'full' | 'address' | undefined }
  /** Counts one that Node has closed without a word, since there were too many. */
  countDropped(): void
  /** Closes a connection at once. */
  cut(connection: Connection, reason: CloseReason): void
  /** Closes those without a request on which nothing has moved for so long. */
  closeIdle(quietMs: number): void
  closeAll(): void
  /** Ends what is done from time to time. */
  stop(): void
}

/** A new connection's first request is on its way. */
const evictableAfterMs = 1000
/** Looking for idle connections takes a while: it makes room for several, and not all the time. */
const evictedAtOnceMax = 16
const evictingPauseMs = 100
const [sweepMsMin, sweepMsMax] = [10, 1000]

/** A slow reader takes some bytes within a minute; a client that takes none has disappeared. */
const answerTimeoutStandardMs = 60_000
/** Long enough for an error to be read in the middle of an upload, before the connection is reset. */
export const lingerTimeoutStandardMs = 2000

/** One timer looks after all connections, so that an answer costs none. */
export function createConnectionTable({
  limits,
  onSweep,
  monotonic,
}: TableOptions): ConnectionTable {
  const { connectionsMax, connectionsPerAddressMax } = limits
  const { answerTimeoutMs = answerTimeoutStandardMs } = limits
  const { lingerTimeoutMs = lingerTimeoutStandardMs } = limits
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
    get: (socket) => open.get(socket),
    add: (socket) => {
      const connection = openConnection(socket, monotonic())
      const missing = missingRoom(connection.origin)
      if (missing !== undefined) count(missing)
      open.set(socket, connection)
      origins.add(connection.origin)
      socket.once('close', () => forget(connection))
      return { connection, missing }
    },
    countDropped: () => void count('full'),
    cut,
    closeIdle: (quietMs) => {
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
    stop: () => clearInterval(timer),
  }
}

/** Counts by name; a name without any is forgotten. */
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

/**
 * Makes room among all connections, or those of one origin: closes those that are refused already,
 * and those that ask for nothing. Returns whether there is some.
 */
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

function openConnection(socket: Socket, nowMs: number): Connection {
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

/** Whether no request is under way, as of the last `settle`. */
function isIdle({ socket, response, waiting }: Connection): boolean {
  return response === undefined && waiting === 0 && socket.writableLength === 0
}

/** Whether a part of a request's head is there, as of the last `settle`. */
function isAsking({ socket, response, idleBytesRead }: Connection): boolean {
  return response === undefined && socket.bytesRead !== idleBytesRead
}

/** How long its client has taken nothing of what waits for it. */
function untakenMs(connection: Connection, nowMs: number): number {
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

/** Files that the process needs beside its connections: the store, the log, its modules. */
const ownFiles = 64
/** More than these are to be asked for: each takes some kilobytes. */
const connectionsMost = 16_384

/**
 * How many connections of callers fit into the process's limit of open files. Half of it is left to
 * the connections to providers, since a call may need one each.
 */
export function connectionsFitting(): number {
  const fitting = Math.floor((openFilesMax() - ownFiles) / 2)
  return Math.max(1, Math.min(fitting, connectionsMost))
}

/** The limit of the system; infinite where it has none, or does not tell. */
function openFilesMax(): number {
  // Node's types leave this member out. Without it the report looks up the name of each address.
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  report.excludeNetwork = true
  // Node's types take any report for an object without members.
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } }
  const limit = Number(userLimits?.open_files?.soft)
  return Number.isNaN(limit) ? Infinity : limit
}
