import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../core/error.ts'
import {
  createConnectionTable,
  type ConnectionTable,
  type TableOptions,
  lingerTimeoutStandardMs,
  type Connection,
} from './connection-table.ts'
import { newRequestId } from './exchange.ts'
import { malformedError, type ParseError } from './check-request.ts'
import { errorBody, errorHeaders } from './error-answer.ts'

export type ConnectionsOptions = TableOptions & {
  /** Answers a request whose turn has come. */
  handle: (request: IncomingMessage, response: ServerResponse) => void
  /** A connection was answered with an error outside of an exchange. */
  onRefusal: (requestId: string, error: GatewayError) => void
  /** Unix time in milliseconds. */
  clock: () => number
}

/** The connections of callers, each of which is bounded in time, and all in number. */
export type Connections = Pick<
  ConnectionTable,
  'countDropped' | 'closeIdle' | 'closeAll' | 'stop'
> & {
  accept(socket: Socket): void
  /** Has a request answered when its turn has come: one at a time, in the order of its connection. */
  serve(request: IncomingMessage, response: ServerResponse): void
  /** Whether a request waits for the answers before it. */
  isAwaited(socket: Socket): boolean
  /** Answers what Node's HTTP parser rejects, which never is a request. */
  refuseMalformed(cause: ParseError, socket: Socket): void
  /** Answers with an error and closes the connection, whether or not its client does. */
  refuse(socket: Socket, error: GatewayError): void
}

/** Few clients pipeline at all; each waiting request takes memory. */
const pipelinedRequestsMax = 16

export function createConnections(options: ConnectionsOptions): Connections {
  const { handle } = options
  const table = createConnectionTable(options)
  const refusals = createRefusals({ ...options, table })
  const begin = (connection: Connection, request: IncomingMessage, response: ServerResponse) => {
    connection.response = response
    handle(request, response)
    if (connection.refusal !== undefined) refusals.tellBehind(connection, connection.refusal)
  }
  const serve: Connections['serve'] = (request, response) => {
    const connection = table.get(request.socket)
    if (connection === undefined || connection.refusal !== undefined) return
    if (response.socket !== null) {
      begin(connection, request, response)
    } else if (connection.waiting === pipelinedRequestsMax) {
      // No error is told: what Node has read by now is kept until the connection is gone.
      table.cut(connection, 'pipelined')
      stopParsing(connection.socket)
    } else {
      connection.waiting++
      response.once('socket', () => {
        process.nextTick(() => {
          connection.waiting--
          begin(connection, request, response)
        })
      })
    }
  }
  return {
    accept: (socket) => {
      const { connection, missing } = table.add(socket)
      if (missing !== undefined) refusals.turnAway(connection, missing)
    },
    serve,
    isAwaited: (socket) => (table.get(socket)?.waiting ?? 0) > 0,
    refuse: refusals.refuse,
    refuseMalformed: (cause, socket) => {
      if (cause.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else refusals.refuse(socket, malformedError(cause))
    },
    countDropped: table.countDropped,
    closeIdle: table.closeIdle,
    closeAll: table.closeAll,
    stop: table.stop,
  }
}

type Parser = { onIncoming: () => number }

/** Has Node's parser leave the rest of what was read, which may be a thousand requests. */
function stopParsing(socket: Socket): void {
  // Node's types leave the parser out. Its answer 2 means: what follows is not HTTP.
  const { parser } = socket as Socket & { parser?: Parser | null }
  if (parser) parser.onIncoming = () => 2
}

type RefusalOptions = Pick<ConnectionsOptions, 'limits' | 'monotonic' | 'clock' | 'onRefusal'> & {
  table: Pick<ConnectionTable, 'get'>
}

/** Answers connections with errors, and has them closed whether or not their clients do. */
function createRefusals({ limits, clock, monotonic, table, onRefusal }: RefusalOptions) {
  const tell = (connection: Connection, error: GatewayError): string => {
    const { socket } = connection
    const requestId = newRequestId(clock())
    connection.closesAtMs = monotonic() + (limits.lingerTimeoutMs ?? lingerTimeoutStandardMs)
    if (!socket.writable) socket.destroy()
    else socket.end(printAnswer(error, requestId))
    return requestId
  }
  const dismiss = (connection: Connection, error: GatewayError): void => {
    connection.refusal = error
    discardInput(connection.socket)
  }
  const tellBehind = (connection: Connection, error: GatewayError): void => {
    const { response, waiting } = connection
    if (waiting > 0) return
    const isUnderWay = response !== undefined && !response.destroyed
    if (isUnderWay && (response.headersSent || response.req.complete)) {
      response.once('close', () => tellBehind(connection, error))
      return
    }
    onRefusal(tell(connection, error), error)
  }
  return {
    refuse: (socket: Socket, error: GatewayError): void => {
      const connection = table.get(socket)
      if (connection === undefined) socket.destroy()
      else if (connection.refusal === undefined) {
        dismiss(connection, error)
        tellBehind(connection, error)
      }
    },
    /**
     * Tells an error behind the answers before it, so that it is not taken for one of them; to be
     * called again with each of those that begins.
     */
    tellBehind,
    /** Refuses a new connection. The table counts these: a line in the log for each is too much. */
    turnAway: (connection: Connection, reason: keyof typeof tooMany): void => {
      dismiss(connection, tooMany[reason])
      tell(connection, tooMany[reason])
    },
  }
}

/** Reads on, so that the client's end is seen, but nothing as a request. */
function discardInput(socket: Socket): void {
  socket.removeAllListeners('data')
  // Node's parser lets go of a socket that somebody else reads.
  socket.on('data', () => undefined)
  socket.resume()
}

/** An error as the bytes of an answer, for a connection on which Node can give none. */
function printAnswer(error: GatewayError, requestId: string): string {
  const body = JSON.stringify(errorBody(error, requestId))
  const headers = {
    'x-request-id': requestId,
    ...errorHeaders(error),
    connection: 'close',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}

const soon = { retryAfterSeconds: 1 }
const tooMany = {
  full: new GatewayError(
    'overloaded',
    'The gateway has too many connections. Try again soon.',
    soon,
  ),
  address: new GatewayError(
    'overloaded',
    'There are too many connections from this address. Close some.',
    soon,
  ),
}
