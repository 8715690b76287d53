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
import { checkRequest, isServerWide } from './check-request.ts'
import { connectionsFitting, createConnections, type ConnectionsOptions } from './connections.ts'
import type { ContractRouter } from './contract-router.ts'
import {
  createExchange,
  type ExchangeOptions,
  type ExchangeState,
  type OperationHandler,
} from './exchange.ts'
import { closePort, createAcceptWaiting, flagAfter, runFor, sweepUntil } from './drain.ts'

type Options = Omit<ExchangeOptions, 'closing' | 'refuse' | 'onExchange'> & {
  contract: ContractRouter
  /** Routes outside of the contract. */
  router: Router<ExchangeState>
  limits: ConnectionsOptions['limits'] & {
    requestTimeoutMs: number
    keepAliveTimeoutMs: number
    drainNoticeMs: number
    drainQuietMs: number
    drainTimeoutMs: number
  }
  /** Called when the port closes, to end idle event streams, which would otherwise stay open. */
  onDrain: () => void
  /** Called at the drain timeout, when running requests must end. */
  onLate: () => void
  events: {
    exchanged: ExchangeOptions['onExchange']
    refused: ConnectionsOptions['onRefusal']
    swept: ConnectionsOptions['onSweep']
    /** The operating system could not accept a connection. */
    acceptFailed: (error: Error) => void
  }
}

export type GatewayServer = ReturnType<typeof createHttpServer>

/**
 * The HTTP server: operations of the contract, then the router for all other paths. `drain` reports not
 * ready and serves requests for `noticeMs`; then it closes the port and waits for running requests, up to
 * `drainTimeoutMs` in all.
 */
export function createHttpServer({
  contract,
  router,
  limits,
  onDrain,
  events,
  ...options
}: Options) {
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
  const connectionsMax = connectionsFitting(limits.connectionsMax)
  const connections = createConnections({
    ...options,
    limits: { ...limits, connectionsMax },
    handle: work.handle,
    onRefusal: events.refused,
    onSweep: events.swept,
  })
  const server = createServer(parserOptions(limits), connections.serve)
  // Connections above `connectionsMax` get an error; connections above `maxConnections` are dropped.
  server.maxConnections = connectionsMax + refusedMax
  // `checkRequest` limits the headers; Node would silently drop headers above a limit.
  server.maxHeadersCount = 0
  // The number of requests on a connection is not limited.
  server.maxRequestsPerSocket = 0
  const acceptWaiting = createAcceptWaiting(server, connectionsWaitingMax)
  server.on('connection', connections.accept)
  server.on('drop', connections.countDropped)
  server.on('clientError', connections.refuseMalformed)
  server.on('checkExpectation', connections.serve)
  server.on('connect', (_request, socket) => {
    // Node has removed its own error listener, without which an error would end the process.
    socket.on('error', () => undefined)
    // The socket is a `Socket`, since the server listens on TCP only.
    connections.refuse(socket as Socket, noProxy)
  })
  return {
    listen: (port: number, host: string, reusePort?: boolean) =>
      listen(server, { port, host, reusePort, onError }),
    drain: async (noticeMs = limits.drainNoticeMs) => {
      const endsAt = performance.now() + limits.drainTimeoutMs
      const isLate = flagAfter(limits.drainTimeoutMs)
      draining = true
      await runFor(noticeMs, isLate)
      await acceptWaiting(isLate)
      const closed = closePort(server)
      // Connections are closed only now: a client whose connection is closed reconnects at once.
      closing = true
      onDrain()
      await sweepUntil(closed, () =>
        isLate() ? connections.closeAll() : connections.closeIdle(limits.drainQuietMs),
      )
      await work.ended(endsAt - performance.now(), options.onLate)
      connections.stop()
    },
    draining: () => draining,
    running: work.running,
  }
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Answers operations with literal paths without Koa, whose context, middleware and listeners are
 * not needed there (docs/decisions.md). Koa serves all other paths.
 */
function createAnswer(
  contract: ContractRouter,
  router: Router<ExchangeState>,
  options: ExchangeOptions,
): Handle {
  const exchange = createExchange(options)
  contract.bindPatterns(router)
  const app = new Koa<ExchangeState>()
  // The exchange logs errors, so Koa must not print them.
  app.silent = true
  app.use(exchange)
  // Koa and the router differ in the types of unused context members.
  app.use(router.routes() as unknown as Koa.Middleware<ExchangeState>)
  const answerByKoa = app.callback()
  return (request, response) => {
    const refusal = checkRequest(request)
    if (request.url?.includes('//')) request.url = singleSlashes(request.url)
    const operation = isServerWide(request) ? answerOptions : contract.find(request)
    if (operation === undefined && refusal === undefined) return answerByKoa(request, response)
    // The exchange sets the remaining members.
    const state = { operation, refusal } as ExchangeState
    return exchange({ req: request, res: response, state })
  }
}

const answerOptions: OperationHandler = ({ state }) => {
  state.answer = { status: 204, headers: { allow: contractMethods.join(', ') } }
  return Promise.resolve()
}

/** Removes empty path segments, which a base URL with a trailing slash causes. */
function singleSlashes(url: string): string {
  return url.replace(/^[^?]*/, (path) => path.replaceAll(/\/{2,}/g, '/'))
}

const noProxy = new GatewayError(
  'method_not_allowed',
  'The gateway is not a proxy: it does not accept CONNECT.',
  {
    status: 501,
  },
)
const checkingIntervalMsMax = 5000
const headerBytesMax = 16_384
/** Headers fit into a few packets; a slower client is broken or an attack. */
const headersTimeoutMs = 30_000
/** All clients may reconnect at once after a restart. net.core.somaxconn caps this. */
const connectionsWaitingMax = 4096
const refusedMax = 64

/** The limits for reading requests, including Node's own. */
function parserOptions({ requestTimeoutMs, keepAliveTimeoutMs }: Options['limits']): ServerOptions {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    // The interval at which Node checks timeouts; a short timeout needs a shorter interval.
    connectionsCheckingInterval: Math.min(
      headersTimeoutMs,
      requestTimeoutMs,
      checkingIntervalMsMax,
    ),
    keepAliveTimeout: keepAliveTimeoutMs,
    maxHeaderSize: headerBytesMax,
    insecureHTTPParser: false,
    // `checkRequest` checks the Host header, and answers with an error body.
    requireHostHeader: false,
  }
}

const lastRowsTimeoutMs = 5000
const unreferenced = { ref: false }

/** Counts running requests, also those of clients that have left until their row is written. */
function countWork(handle: Handle) {
  let running = 0
  let onIdle: (() => void) | undefined
  const ended = () => {
    running--
    if (running === 0) onIdle?.()
  }
  return {
    running: (): number => running,
    handle: (request: IncomingMessage, response: ServerResponse): void => {
      running++
      handle(request, response).then(ended, () => {
        // An error that escapes the exchange leaves no valid response.
        response.destroy()
        ended()
      })
    },
    /** Resolves when no request runs; at the timeout calls `onLate` and waits a little longer. */
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

/**
 * Resolves with the bound port, also for `port` 0. With `reusePort` several processes may listen
 * on the port, and the kernel distributes connections.
 */
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
