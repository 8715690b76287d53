import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Router } from '@koa/router'
import Koa from 'koa'
import type { ContractRouter } from './contract-router.ts'
import { exchangeMiddleware, type ExchangeOptions, type ExchangeState } from './exchange.ts'
import { refuseMalformed } from './malformed.ts'

type Options = Omit<ExchangeOptions, 'draining' | 'refuse'> & {
  contract: ContractRouter
  /** Routes outside of the contract. */
  router: Router<ExchangeState>
  limits: { requestTimeoutMs: number; drainTimeoutMs: number }
  /** Called when draining begins, to end idle event streams, which would stay open. */
  onDrain: () => void
}

export type GatewayServer = {
  /** Resolves with the port that is bound, also when `port` is 0. */
  listen(port: number, host: string): Promise<number>
  /** Stops accepting connections and waits for open requests, up to `drainTimeoutMs`. */
  drain(): Promise<void>
  draining(): boolean
}

type Run = (context: Koa.Context) => Promise<void>
/** Koa's internal handling of a request, which its types leave out. */
const { handleRequest: koaHandleRequest } = Koa.prototype as unknown as {
  handleRequest(this: Koa, context: Koa.Context, run: Run): Promise<void>
}

/**
 * Koa, except that it does not end requests to operations of the contract: the exchange writes
 * their answers and listens for closed connections, so that Koa would only add a second listener.
 */
class Application extends Koa<ExchangeState> {
  readonly #contract: ContractRouter

  constructor(contract: ContractRouter) {
    super()
    this.#contract = contract
    // The exchange logs errors; Koa must not print them as well.
    this.silent = true
  }

  handleRequest(context: Koa.Context, run: Run): Promise<void> {
    const { req: request } = context
    if (request.url?.includes('//')) request.url = singleSlashes(request.url)
    const operation = this.#contract.find(request)
    if (operation === undefined) return koaHandleRequest.call(this, context, run)
    context.state['operation'] = operation
    return run(context)
  }
}

/** An address whose path has no empty parts, which come of a base URL that ends with a slash. */
function singleSlashes(url: string): string {
  return url.replace(/^[^?]*/, (path) => path.replaceAll(/\/{2,}/g, '/'))
}

/** The HTTP server: operations of the contract first, then the router for everything else. */
export function createHttpServer({
  contract,
  router,
  limits,
  onDrain,
  ...options
}: Options): GatewayServer {
  let draining = false
  const app = new Application(contract)
  const { refuse } = contract
  app.use(exchangeMiddleware({ ...options, limits, refuse, draining: () => draining }))
  app.use((context, next) => {
    const { operation } = context.state
    return operation === undefined ? next() : operation(context)
  })
  contract.bindPatterns(router)
  // Koa and the router type the context differently, in members that are not used here.
  app.use(router.routes() as unknown as Koa.Middleware<ExchangeState>)
  const { requestTimeoutMs: requestTimeout } = limits
  const handle = app.callback()
  let running = 0
  const idle = Promise.withResolvers<void>()
  const ended = () => {
    running--
    if (draining && running === 0) idle.resolve()
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    running++
    handle(request, response).then(ended, () => {
      // An error that escapes the exchange leaves no valid answer to send.
      response.destroy()
      ended()
    })
  }
  const server = createServer(
    {
      requestTimeout,
      headersTimeout: requestTimeout,
      // How often Node looks for timed-out requests; a short timeout needs a shorter interval.
      connectionsCheckingInterval: Math.min(requestTimeout, checkingIntervalMsMax),
    },
    serve,
  )
  server.on('clientError', refuseMalformed)
  return {
    listen: (port, host) => listen(server, port, host),
    drain: async () => {
      draining = true
      onDrain()
      await close(server, limits.drainTimeoutMs)
      // Calls whose connection is closed still write their ledger rows.
      if (running > 0)
        await Promise.race([idle.promise, sleep(lastRowsTimeoutMs, undefined, unreferenced)])
    },
    draining: () => draining,
  }
}

const checkingIntervalMsMax = 30_000

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

const idleSweepMs = 50
const lastRowsTimeoutMs = 5000
const unreferenced = { ref: false }

/** Closes keep-alive connections once they are idle, so that draining ends with the last call. */
function close(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), idleSweepMs)
    const limit = setTimeout(() => server.closeAllConnections(), timeoutMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(limit)
      resolve()
    })
    server.closeIdleConnections()
  })
}
