import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../core/error.ts'
import {
  createConnectionTable,
  type ConnectionTable,
  type TableOptions,
  type Connection,
} from './connection-table.ts'
import { newRequestId } from './exchange.ts'
import { malformedError, type ParseError } from './check-request.ts'
import { errorBody, errorHeaders } from './error-answer.ts'

export type ConnectionsOptions = TableOptions & {
  /** Handles a request after the earlier responses of its connection. */
  handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Called when an error was sent outside of an exchange. */
  onRefusal: (requestId: string, error: GatewayError) => void
  /** Unix time in milliseconds. */
  clock: () => number
}

/** Few clients pipeline, and each waiting request takes memory. */
const pipelinedRequestsMax = 16

/** The client connections, limited in number and duration. */
export function createConnections(options: ConnectionsOptions) {
  const { handle } = options
  const table = createConnectionTable(options)
  const refusals = createRefusals({ ...options, table })
  const begin = (connection: Connection, request: IncomingMessage, response: ServerResponse) => {
    connection.response = response
    handle(request, response)
    if (connection.refusal !== undefined) refusals.sendAfterAnswers(connection, connection.refusal)
  }
  /** Handles requests one at a time, in the order of their connection. */
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = table.get(request.socket)
    if (connection === undefined || connection.refusal !== undefined) return
    if (response.socket !== null) {
      begin(connection, request, response)
    } else if (connection.waiting === pipelinedRequestsMax) {
      // No error is sent: input that Node has already read stays in memory until the connection is
      // closed.
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
    ...table,
    accept: (socket: Socket) => {
      const { connection, missing } = table.add(socket)
      if (missing !== undefined) refusals.refuseConnection(connection, missing)
    },
    serve,
    /** Whether a pipelined request is waiting. */
    isAwaited: (socket: Socket) => (table.get(socket)?.waiting ?? 0) > 0,
    refuse: refusals.refuse,
    /** Answers bytes that Node's HTTP parser rejects. */
    refuseMalformed: (cause: ParseError, socket: Socket) => {
      if (cause.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else refusals.refuse(socket, malformedError(cause))
    },
  }
}

type Parser = { onIncoming: () => number }

/** Stops Node's parser, which may already have read a thousand requests. */
function stopParsing(socket: Socket): void {
  // Node's types omit the parser. The return value 2 means that the rest is not HTTP.
  const { parser } = socket as Socket & { parser?: Parser | null }
  if (parser) parser.onIncoming = () => 2
}

type RefusalOptions = Pick<ConnectionsOptions, 'limits' | 'monotonic' | 'clock' | 'onRefusal'> & {
  table: Pick<ConnectionTable, 'get'>
}

/** Sends errors on connections and closes them, even if clients keep them open. */
function createRefusals({ limits, clock, monotonic, table, onRefusal }: RefusalOptions) {
  const send = (connection: Connection, error: GatewayError): string => {
    const { socket } = connection
    const requestId = newRequestId(clock())
    connection.closesAtMs = monotonic() + limits.lingerTimeoutMs
    if (!socket.writable) socket.destroy()
    else socket.end(printAnswer(error, requestId))
    return requestId
  }
  const dismiss = (connection: Connection, error: GatewayError): void => {
    connection.refusal = error
    discardInput(connection.socket)
  }
  const sendAfterAnswers = (connection: Connection, error: GatewayError): void => {
    const { response, waiting } = connection
    if (waiting > 0) return
    const isUnderWay = response !== undefined && !response.destroyed
    if (isUnderWay && (response.headersSent || response.req.complete)) {
      response.once('close', () => sendAfterAnswers(connection, error))
      return
    }
    onRefusal(send(connection, error), error)
  }
  return {
    /** Sends an error and closes the connection, even if the client keeps it open. */
    refuse: (socket: Socket, error: GatewayError): void => {
      const connection = table.get(socket)
      if (connection === undefined) socket.destroy()
      else if (connection.refusal === undefined) {
        dismiss(connection, error)
        sendAfterAnswers(connection, error)
      }
    },
    /**
     * Sends an error after the earlier responses, so that no client takes the error for one of them.
     * Call this again when a waiting request begins.
     */
    sendAfterAnswers,
    /** Refuses a new connection, and counts the refusal, since a log line for each would be too many. */
    refuseConnection: (connection: Connection, reason: keyof typeof tooMany): void => {
      dismiss(connection, tooMany[reason])
      send(connection, tooMany[reason])
    },
  }
}

/** Discards further input, but still detects that the client closes the connection. */
function discardInput(socket: Socket): void {
  socket.removeAllListeners('data')
  // A `data` listener of the gateway makes Node's parser release the socket.
  socket.on('data', () => undefined)
  socket.resume()
}

/** An error as raw response bytes, for a connection without a response object. */
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

/** Number of file descriptors reserved for the store, the log and modules. */
const ownFiles = 64

/**
 * The number of client connections that fit into the limit of open files, at most `most`. Half of the limit
 * is kept for connections to providers, since each call may need one.
 */
export function connectionsFitting(most: number): number {
  const fitting = Math.floor((openFilesMax() - ownFiles) / 2)
  return Math.max(1, Math.min(fitting, most))
}

/** The system's limit of open files; infinite if the system has none or does not report it. */
function openFilesMax(): number {
  // Node's types omit `excludeNetwork`, without which the report looks up the name of each address.
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  report.excludeNetwork = true
  // Node's types declare the report as an object without members.
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } }
  const limit = Number(userLimits?.open_files?.soft)
  return Number.isNaN(limit) ? Infinity : limit
}
