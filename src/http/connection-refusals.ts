import type { Socket } from 'node:net'
import { GatewayError } from '../core/error.ts'
import {
  lingerTimeoutStandardMs,
  type ConnectionTable,
  type TableOptions,
} from './connection-table.ts'
import type { Connection } from './connection.ts'
import { newRequestId } from './exchange.ts'
import { printAnswer } from './malformed.ts'

type Options = Pick<TableOptions, 'limits' | 'monotonic'> & {
  table: Pick<ConnectionTable, 'get'>
  /** Unix time in milliseconds. */
  clock: () => number
  /** A connection was answered with an error outside of an exchange. */
  onRefusal: (requestId: string, error: GatewayError) => void
}

/** Answers connections with errors, and has them closed whether or not their clients do. */
export function createRefusals({ limits, clock, monotonic, table, onRefusal }: Options) {
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
