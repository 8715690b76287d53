import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Router } from '@koa/router'
import Koa from 'koa'
import { contractMethods } from '../../generated/operations.ts'
import { GatewayError } from '../core/error.ts'
import { checkRequest, isAboutServer } from './check-request.ts'
import { createConnections, type ConnectionsOptions } from './connections.ts'
import type { ContractRouter } from './contract-router.ts'
import {
  createExchange,
  type ExchangeOptions,
  type ExchangeState,
  type OperationHandler,
} from './exchange.ts'
import { closePort, createAcceptWaiting, flagAfter, runFor, sweepUntil } from './drain.ts'
import { connectionsFitting } from './connection-table.ts'

type Options = Omit<ExchangeOptions, 'closing' | 'refuse' | 'onExchange'> & {
  contract: ContractRouter
  /** Routes outside of the contract. */
  router: Router<ExchangeState>
  limits: Omit<ConnectionsOptions['limits'], 'connectionsMax'> & {
    connectionsMax?: number
    requestTimeoutMs: number
    keepAliveTimeoutMs: number
    drainNoticeMs: number
    drainQuietMs: number
    drainTimeoutMs: number
  }
  /** Called when the port closes, to end idle event streams, which would stay open. */
  onDrain: () => void
  /** Called when the time of the drain is over: what is still in work has to end. */
  onLate: () => void
  events: {
    exchanged: ExchangeOptions['onExchange']
    refused: ConnectionsOptions['onRefusal']
    swept: ConnectionsOptions['onSweep']
    /** The system could not accept a connection. */
    acceptFailed: (error: Error) => void
  }
}

export type GatewayServer = {
  /**
   * Resolves with the port that is bound, also when `port` is 0. With `reusePort` other processes may
   * listen on it too, and the system spreads connections over them.
   */
  listen(port: number, host: string, reusePort?: boolean): Promise<number>
  /**
   * Says that it is not ready, and takes requests for `noticeMs` (`drainNoticeMs` by default) as
   * before. Then it closes the port and waits for open requests, up to `drainTimeoutMs` in all.
   */
  drain(noticeMs?: number): Promise<void>
  draining(): boolean
}

/** The HTTP server: operations of the contract first, then the router for everything else. */
export function createHttpServer({
  contract,
  router,
  limits,
  onDrain,
  events,
  ...options
}: Options): GatewayServer {
  let draining = false
  let closing = false
  const { exchanged: onExchange, acceptFailed: onError } = events
  const answer = createAnswer(contract, router, {
    ...options,
    limits,
    refuse: contract.refuse,
    onExchange,
    closing: ({ socket }) => closing && !connections.isAwaited(socket),
  })
  const work = countWork(answer)
  const connectionsMax = limits.connectionsMax ?? connectionsFitting()
  const connections = createConnections({
    ...options,
    limits: { ...limits, connectionsMax },
    handle: work.handle,
    onRefusal: events.refused,
    onSweep: events.swept,
  })
  const server = createServer(parserOptions(limits), connections.serve)
  // Those above `connectionsMax` are told that there is no room; above this there is no word.
  server.maxConnections = connectionsMax + refusedMax
  // `checkRequest` counts the headers; those above Node's limit are dropped in silence.
  server.maxHeadersCount = 0
  // A connection costs nothing more for its many requests.
  server.maxRequestsPerSocket = 0
  const acceptWaiting = createAcceptWaiting(server, connectionsWaitingMax)
  server.on('connection', connections.accept)
  server.on('drop', connections.countDropped)
  server.on('clientError', connections.refuseMalformed)
  server.on('checkExpectation', connections.serve)
  server.on('connect', (_request, socket) => {
    // Node has taken its own listener from it.
    socket.on('error', () => undefined)
    // The socket of a server of TCP is one of TCP.
    connections.refuse(socket as Socket, noProxy)
  })
  return {
    listen: (port, host, reusePort) => listen(server, { port, host, reusePort, onError }),
    drain: async (noticeMs = limits.drainNoticeMs) => {
      const endsAt = performance.now() + limits.drainTimeoutMs
      const isLate = flagAfter(limits.drainTimeoutMs)
      draining = true
      await runFor(noticeMs, isLate)
      await acceptWaiting(isLate)
      const closed = closePort(server)
      // Not sooner: whoever is told that a connection closes opens the next one at once.
      closing = true
      onDrain()
      await sweepUntil(closed, () =>
        isLate() ? connections.closeAll() : connections.closeIdle(limits.drainQuietMs),
      )
      await work.ended(endsAt - performance.now(), options.onLate)
      connections.stop()
    },
    draining: () => draining,
  }
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Answers operations whose paths are literally in the contract without Koa, whose context, middleware
 * and listeners have nothing to do there (docs/decisions.md). Koa has all other paths.
 */
function createAnswer(
  contract: ContractRouter,
  router: Router<ExchangeState>,
  options: ExchangeOptions,
): Handle {
  const exchange = createExchange(options)
  contract.bindPatterns(router)
  const app = new Koa<ExchangeState>()
  // The exchange logs errors; Koa must not print them as well.
  app.silent = true
  app.use(exchange)
  // Koa and the router type the context differently, in members that are not used here.
  app.use(router.routes() as unknown as Koa.Middleware<ExchangeState>)
  const answerByKoa = app.callback()
  return (request, response) => {
    const refusal = checkRequest(request)
    if (request.url?.includes('//')) request.url = singleSlashes(request.url)
    const operation = isAboutServer(request) ? answerOptions : contract.find(request)
    if (operation === undefined && refusal === undefined) return answerByKoa(request, response)
    // The exchange sets the members that every exchange has.
    const state = { operation, refusal } as ExchangeState
    return exchange({ req: request, res: response, state })
  }
}

const answerOptions: OperationHandler = ({ state }) => {
  state.answer = { status: 204, headers: { allow: contractMethods.join(', ') } }
  return Promise.resolve()
}

/** An address whose path has no empty parts, which come of a base URL that ends with a slash. */
function singleSlashes(url: string): string {
  return url.replace(/^[^?]*/, (path) => path.replaceAll(/\/{2,}/g, '/'))
}

const noProxy = new GatewayError('method_not_allowed', 'The gateway is no proxy: no CONNECT.', {
  status: 501,
})
const checkingIntervalMsMax = 5000
const headerBytesMax = 16_384
/** Headers fit in a few packets; a slower client is broken or holds connections on purpose. */
const headersTimeoutMs = 30_000
/** All clients may reconnect at once after a restart; the system caps it at net.core.somaxconn. */
const connectionsWaitingMax = 4096
const refusedMax = 64

/** What bounds the reading of requests; each bound is named, also those that are Node's own. */
function parserOptions({ requestTimeoutMs, keepAliveTimeoutMs }: Options['limits']): ServerOptions {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    // How often Node looks for timed-out requests; a short timeout needs a shorter interval.
    connectionsCheckingInterval: Math.min(
      headersTimeoutMs,
      requestTimeoutMs,
      checkingIntervalMsMax,
    ),
    keepAliveTimeout: keepAliveTimeoutMs,
    maxHeaderSize: headerBytesMax,
    insecureHTTPParser: false,
    // `checkRequest` does, with an error in the body.
    requireHostHeader: false,
  }
}

const lastRowsTimeoutMs = 5000
const unreferenced = { ref: false }

/**
 * Counts the requests in work: a call whose connection is closed goes on to its end, or still writes
 * its row in the ledger.
 */
function countWork(handle: Handle) {
  let running = 0
  let onIdle: (() => void) | undefined
  const ended = () => {
    running--
    if (running === 0) onIdle?.()
  }
  return {
    handle: (request: IncomingMessage, response: ServerResponse): void => {
      running++
      handle(request, response).then(ended, () => {
        // An error that escapes the exchange leaves no valid answer to send.
        response.destroy()
        ended()
      })
    },
    /** Resolves when no request is in work, or some do not end though `onLate` was called. */
    ended: async (timeoutMs: number, onLate: () => void): Promise<void> => {
      if (running === 0) return
      const idle = new Promise<void>((resolve) => (onIdle = resolve))
      await Promise.race([idle, sleep(Math.max(0, timeoutMs), undefined, unreferenced)])
      if (running === 0) return
      onLate()
      await Promise.race([idle, sleep(lastRowsTimeoutMs, undefined, unreferenced)])
    },
  }
}

type Listening = {
  port: number
  host: string
  reusePort: boolean | undefined
  onError: (error: Error) => void
}

function listen(server: Server, { onError, ...address }: Listening): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, backlog: connectionsWaitingMax }, () => {
      server.removeListener('error', reject)
      server.on('error', onError)
      const bound = server.address()
      resolve(typeof bound === 'object' && bound !== null ? bound.port : address.port)
    })
  })
}
