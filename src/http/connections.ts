import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { GatewayError } from '../core/error.ts'
import type { Connection } from './connection.ts'
import {
  createConnectionTable,
  type ConnectionTable,
  type TableOptions,
} from './connection-table.ts'
import { createRefusals } from './connection-refusals.ts'
import { malformedError, type ParseError } from './malformed.ts'

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

/** Hardly any client sends a request before the last one's answer; a browser never does. */
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
