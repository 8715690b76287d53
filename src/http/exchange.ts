import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Koa from 'koa'
import type { Caller } from '../core/caller.ts'
import { GatewayError, toGatewayError } from '../core/error.ts'
import { errorAnswer, send, type Answer } from './answer.ts'
import { allowCrossOrigin } from './cross-origin.ts'
import { ClientLeft } from './read-body.ts'

/** What one exchange carries from middleware to handler and back. */
export type ExchangeState = {
  requestId: string
  /** Aborts when the other side has left. */
  signal: AbortSignal
  caller?: Caller
  answer?: Answer
}

/** What is known of an exchange when it is over. */
export type Exchange = {
  requestId: string
  method: string
  path: string
  status: number
  durationMs: number
  caller: Caller | undefined
  /** What was thrown, when something was. */
  error: unknown
  /** The other side left before the answer was whole. */
  left: boolean
}

export type ExchangeOptions = {
  limits: { concurrentRequestsMax: number; lingerTimeoutMs: number; pingIntervalMs: number }
  draining: () => boolean
  onExchange: (exchange: Exchange) => void
  clock: () => number
}

type Context = Koa.ParameterizedContext<ExchangeState>

/** Gives each exchange its id, its one answer, whatever happens, and its line in the log. */
export function exchangeMiddleware(options: ExchangeOptions): Koa.Middleware<ExchangeState> {
  const { limits, draining, onExchange, clock } = options
  let open = 0
  return async (context, next) => {
    const { req, res, state } = context
    // One function of ours writes every answer.
    context.respond = false
    const startedAt = clock()
    const leaving = new AbortController()
    state.requestId = newRequestId()
    state.signal = leaving.signal
    res.setHeader('x-request-id', state.requestId)
    if (draining()) res.setHeader('connection', 'close')
    res.once('close', () => {
      if (!res.writableFinished) leaving.abort()
    })
    let error: unknown
    open++
    try {
      if (open > limits.concurrentRequestsMax) throw overloaded()
      await answer(context, next, limits.pingIntervalMs)
    } catch (thrown) {
      error = thrown
      await refuse(req, res, thrown, limits)
    } finally {
      open--
      const { requestId, caller } = state
      const { method = '', url = '' } = req
      const path = url.split('?', 1)[0]!
      const left = leaving.signal.aborted
      const { statusCode: status } = res
      const durationMs = clock() - startedAt
      onExchange({ requestId, method, path, status, durationMs, caller, error, left })
    }
  }
}

/** A name for an exchange, unique and without meaning. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}

async function answer(context: Context, next: Koa.Next, pingIntervalMs: number): Promise<void> {
  const { req, res, state } = context
  if (allowCrossOrigin(req, res)) state.answer = { status: 204 }
  else await next()
  await send(res, state.answer ?? missing(context), pingIntervalMs)
}

/** Answers an error; what is left of the request's body is read for a moment, then cut off. */
async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
  { lingerTimeoutMs, pingIntervalMs }: ExchangeOptions['limits'],
): Promise<void> {
  if (thrown instanceof ClientLeft) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (!request.complete) {
    response.setHeader('connection', 'close')
    const timer = setTimeout(() => request.destroy(), lingerTimeoutMs)
    response.once('close', () => clearTimeout(timer))
    request.resume()
  }
  await send(response, errorAnswer(toGatewayError(thrown)), pingIntervalMs)
}

type Matched = { matched?: { methods: string[] }[] }

/** Nothing handled it: there is no such path, or it has other methods. */
function missing(context: Context): Answer {
  const { matched = [] } = context as Matched
  const methods = [...new Set(matched.flatMap((layer) => layer.methods))]
  const { method } = context
  const path = context.path.slice(0, 200)
  if (methods.length === 0) {
    throw new GatewayError('not_found', `There is no ${path} here. /docs lists what there is.`)
  }
  const allow = methods.join(', ')
  throw new GatewayError(
    'method_not_allowed',
    `${path} does not take ${method}. It takes ${allow}.`,
    {
      headers: { allow },
    },
  )
}

function overloaded(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is busy. Try again in a moment.', {
    retryAfterSeconds: 1,
  })
}
