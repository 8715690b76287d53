import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type Koa from 'koa'
import type { Caller } from '../core/caller.ts'
import { callerLeft } from '../core/deadline.ts'
import { GatewayError, toGatewayError } from '../core/error.ts'
import { send, type Answer } from './answer.ts'
import type { AllowCrossOrigin } from './cross-origin.ts'
import { MethodNotAllowed, type ErrorAnswer } from './error-answer.ts'
import { ClientLeft } from './read-body.ts'

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

/** What one exchange carries from middleware to handler and back. */
export type ExchangeState = {
  requestId: string
  /** Aborted when the other side leaves. */
  ending: AbortController
  caller?: Caller
  answer?: Answer
}

export type ExchangeOptions = {
  limits: { concurrentRequestsMax: number; lingerTimeoutMs: number; pingIntervalMs: number }
  draining: () => boolean
  errorAnswerAt: (path: string) => ErrorAnswer
  allowCrossOrigin: AllowCrossOrigin
  onExchange: (exchange: Exchange) => void
  clock: () => number
}

type Context = Koa.ParameterizedContext<ExchangeState>

/** Gives each exchange its id, its one answer, whatever happens, and its line in the log. */
export function exchangeMiddleware(options: ExchangeOptions): Koa.Middleware<ExchangeState> {
  const { limits, draining, allowCrossOrigin, onExchange, clock } = options
  const { pingIntervalMs } = limits
  let open = 0
  return async (context, next) => {
    const { req, res, state } = context
    // One function of ours writes every answer.
    context.respond = false
    const startedAt = clock()
    state.requestId = newRequestId()
    state.ending = new AbortController()
    if (draining()) res.setHeader('connection', 'close')
    res.once('close', () => {
      if (res.writableFinished) return
      left = true
      state.ending.abort(callerLeft())
    })
    let error: unknown
    let left = false
    let inWork = true
    const leaveWork = () => {
      if (inWork) open--
      inWork = false
    }
    open++
    try {
      if (open > limits.concurrentRequestsMax && !isProbe(req)) throw overloaded()
      if (allowCrossOrigin(req, res)) state.answer = { status: 204 }
      else await next()
      if (state.answer?.held) leaveWork()
      const { requestId } = state
      const sent = send(res, state.answer ?? missing(context), { requestId, pingIntervalMs })
      if (sent !== undefined) await sent
    } catch (thrown) {
      if (!(thrown instanceof ClientLeft)) error = thrown
      await refuse(context, thrown, options)
    } finally {
      leaveWork()
      const { requestId, caller } = state
      const { method = '' } = req
      const path = pathOf(req)
      const status = left && !res.headersSent ? statusOfLeft : res.statusCode
      const durationMs = clock() - startedAt
      onExchange({ requestId, method, path, status, durationMs, caller, error, left })
    }
  }
}

/** Nobody was there to be answered; nginx writes it so into its log. */
const statusOfLeft = 499

/** Whoever watches a busy gateway must not take it for a dead one. */
function isProbe(request: IncomingMessage): boolean {
  return request.url === '/health' || request.url === '/metrics'
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!
}

/**
 * A name for an exchange, unique, and in the order of time: the ledger's index then grows at its end,
 * instead of changing a page somewhere for each row.
 */
export function newRequestId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  const chance = randomUUID()
  return `req_${time}${chance.slice(24)}${chance.slice(0, 8)}`
}

/** Answers an error; what is left of the request's body is read for a moment, then cut off. */
async function refuse(
  { req: request, res: response, state: { requestId } }: Context,
  thrown: unknown,
  { limits: { lingerTimeoutMs, pingIntervalMs }, errorAnswerAt }: ExchangeOptions,
): Promise<void> {
  if (thrown instanceof ClientLeft) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (!request.complete) response.setHeader('connection', 'close')
  const read = request.complete ? undefined : readRest(request, lingerTimeoutMs)
  const errorAnswer = errorAnswerAt(pathOf(request))
  const error = errorAnswer(toGatewayError(thrown), request)
  await send(response, error, { requestId, pingIntervalMs, requestRead: read })
}

/** Closed in the middle of an upload, a connection may lose the answer before it is read. */
function readRest(request: IncomingMessage, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs)
    request.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    request.resume()
  })
}

type Matched = { matched?: { methods: string[] }[] }

/** Nothing handled it: there is no such path, or it has other methods. */
function missing(context: Context): Answer {
  const { matched = [] } = context as Matched
  const methods = [...new Set(matched.flatMap((layer) => layer.methods))]
  const path = context.path.slice(0, 200)
  if (methods.length === 0) {
    throw new GatewayError('not_found', `There is no ${path} here. /docs lists what there is.`)
  }
  throw new MethodNotAllowed(context.req, methods)
}

function overloaded(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is busy. Try again in a moment.', {
    retryAfterSeconds: 1,
  })
}
