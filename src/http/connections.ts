import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../core/error.ts'
import type { Connection } from './connection.ts'
import {
  createConnectionTable,
  type ConnectionTable,
  type TableOptions,
} from './connection-table.ts'
import { newRequestId } from './exchange.ts'
import { malformedError, printAnswer, type ParseError } from './malformed.ts'

export type ConnectionsOptions = TableOptions & {
  limits: { pipelinedRequestsMax: number }
  /** Answers a request whose turn has come. */
  handle: (request: IncomingMessage, response: ServerResponse) => void
  /** A connection was answered with an error outside of an exchange. */
  onRefusal: (requestId: string, error: GatewayError) => void
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

export function createConnections(options: ConnectionsOptions): Connections {
  const { limits, handle, onRefusal, monotonic } = options
  const table = createConnectionTable(options)
  const refuseNow = (connection: Connection, error: GatewayError, tell: typeof onRefusal): void => {
    const { socket } = connection
    connection.closesAtMs = monotonic() + limits.lingerTimeoutMs
    if (!socket.writable) return void socket.destroy()
    const requestId = newRequestId()
    tell(requestId, error)
    socket.end(printAnswer(error, requestId))
    return undefined
  }
  const refuse = (socket: Socket, error: GatewayError, tell = onRefusal): void => {
    const connection = table.get(socket)
    if (connection === undefined) return void socket.destroy()
    if (connection.refusal !== undefined) return undefined
    connection.refusal = error
    discardInput(socket)
    const { response } = connection
    const isUnderWay = response !== undefined && !response.destroyed
    // Behind an answer that has begun, or is for another request, so that it is not taken for it.
    if (isUnderWay && (response.headersSent || response.req.complete))
      response.once('close', () => refuseNow(connection, error, tell))
    else refuseNow(connection, error, tell)
    return undefined
  }
  const serve: Connections['serve'] = (request, response) => {
    const connection = table.get(request.socket)
    if (connection === undefined || connection.refusal !== undefined) return
    if (response.socket !== null) {
      connection.response = response
      handle(request, response)
    } else if (connection.waiting === limits.pipelinedRequestsMax) {
      // No error is told: what Node has read by now is kept until the connection is gone.
      table.cut(connection, 'pipelined')
    } else {
      connection.waiting++
      response.once('socket', () => {
        connection.waiting--
        process.nextTick(serve, request, response)
      })
    }
  }
  return {
    accept: (socket) => {
      const { missing } = table.add(socket)
      // They are counted: a line for each would make it worse.
      if (missing !== undefined) refuse(socket, tooMany[missing], () => undefined)
    },
    serve,
    isAwaited: (socket) => (table.get(socket)?.waiting ?? 0) > 0,
    refuse,
    refuseMalformed: (cause, socket) => {
      if (cause.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else refuse(socket, malformedError(cause))
    },
    countDropped: table.countDropped,
    closeIdle: table.closeIdle,
    closeAll: table.closeAll,
    stop: table.stop,
  }
}

/** Reads on, so that the client's end is seen, but nothing as a request. */
function discardInput(socket: Socket): void {
  socket.removeAllListeners('data')
  // Node's parser lets go of a socket that somebody else reads.
  socket.on('data', () => undefined)
  socket.resume()
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
