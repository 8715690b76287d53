import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Router } from '@koa/router'
import Koa from 'koa'
import { exchangeMiddleware, type ExchangeOptions, type ExchangeState } from './exchange.ts'
import { refuseMalformed } from './malformed.ts'

type Options = Omit<ExchangeOptions, 'draining'> & {
  router: Router<ExchangeState>
  /** Goes before the router. */
  operations: Koa.Middleware<ExchangeState>
  limits: { requestTimeoutMs: number; drainTimeoutMs: number }
  /** Told when draining begins: what waits for news would keep its connection open. */
  onDrain: () => void
}

export type GatewayServer = {
  /** Resolves with the port. */
  listen(port: number, host: string): Promise<number>
  /** Stops taking connections and lets open requests finish, within the limit. */
  drain(): Promise<void>
  draining(): boolean
}

/**
 * The exchange writes every answer and hears of every broken connection: Koa's own end of a request,
 * with its listeners, has nothing to do.
 */
class Application<State> extends Koa<State> {
  handleRequest<T>(context: Koa.Context, run: (context: Koa.Context) => T): T {
    return run(context)
  }
}

/** The HTTP server around a router. */
export function createHttpServer({
  router,
  operations,
  limits,
  onDrain,
  ...options
}: Options): GatewayServer {
  let draining = false
  const app = new Application<ExchangeState>()
  app.use(exchangeMiddleware({ ...options, limits, draining: () => draining }))
  app.use(operations)
  // Koa's and the router's own types of a context differ in what neither uses here.
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
      // Whatever is thrown behind the exchange's own handling leaves no answer to give.
      response.destroy()
      ended()
    })
  }
  const server = createServer(
    {
      requestTimeout,
      headersTimeout: requestTimeout,
      // Node looks for late requests this often; a short limit needs a shorter pause.
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
      // Calls whose connection is gone still write their rows.
      if (running > 0)
        await Promise.race([idle.promise, sleep(afterwordTimeoutMs, undefined, unheld)])
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
const afterwordTimeoutMs = 5000
const unheld = { ref: false }

/** Kept connections are closed as soon as they are idle, so that draining takes no longer than the work. */
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
