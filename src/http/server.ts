import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Router } from '@koa/router'
import Koa from 'koa'
import type { ContractRouter } from './contract-router.ts'
import { exchangeMiddleware, type ExchangeOptions, type ExchangeState } from './exchange.ts'
import { refuseMalformed } from './malformed.ts'

type Options = Omit<ExchangeOptions, 'draining' | 'refuse'> & {
  contract: ContractRouter
  /** What is served outside of the contract. */
  router: Router<ExchangeState>
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

type Run = (context: Koa.Context) => Promise<void>
/** Koa's own handling of a request, which its types leave out. */
const { handleRequest: koaHandleRequest } = Koa.prototype as unknown as {
  handleRequest(this: Koa, context: Koa.Context, run: Run): Promise<void>
}

/**
 * Koa, which leaves operations of the contract to the exchange alone: it writes their answers and hears
 * of their broken connections, so that Koa's own end of a request would only listen a second time.
 */
class Application extends Koa<ExchangeState> {
  readonly #contract: ContractRouter

  constructor(contract: ContractRouter) {
    super()
    this.#contract = contract
    // Errors reach the log through the exchange.
    this.silent = true
  }

  handleRequest(context: Koa.Context, run: Run): Promise<void> {
    const operation = this.#contract.find(context.req)
    if (operation === undefined) return koaHandleRequest.call(this, context, run)
    context.state['operation'] = operation
    return run(context)
  }
}

/** The HTTP server around the contract's router and the router of everything else. */
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
