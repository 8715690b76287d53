import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type Koa from 'koa'
import type { Caller } from '../core/caller.ts'
import { callerLeft } from '../core/deadline.ts'
import { GatewayError, toGatewayError } from '../core/error.ts'
import { send, type Answer } from './answer.ts'
import type { AllowCrossOrigin } from './cross-origin.ts'
import type { ErrorAnswer } from './error-answer.ts'
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

/** Answers a request to a path of the contract. */
export type OperationHandler = (
  context: Koa.ParameterizedContext<ExchangeState> & { params?: object },
) => Promise<void>

/** What one exchange carries from middleware to handler and back. */
export type ExchangeState = {
  requestId: string
  /** Aborted when the other side leaves. */
  ending: AbortController
  /** What answers it, where that is an operation of the contract. */
  operation?: OperationHandler | undefined
  caller?: Caller
  /** Set by whoever answers through `send`; others answer as Koa's middleware do. */
  answer?: Answer
}

export type ExchangeOptions = {
  limits: { concurrentRequestsMax: number; lingerTimeoutMs: number; pingIntervalMs: number }
  draining: () => boolean
  errorAnswerAt: (path: string) => ErrorAnswer
  /** Throws what a request is told that nothing has answered. */
  refuse: (request: IncomingMessage, methods: readonly string[]) => never
  allowCrossOrigin: AllowCrossOrigin
  onExchange: (exchange: Exchange) => void
  clock: () => number
}

type Context = Koa.ParameterizedContext<ExchangeState>

/**
 * Gives each exchange its id, its one answer, whatever happens, and its line in the log. An answer that a
 * handler left in `state.answer` is written here; what a plain Koa middleware set, Koa writes; and what
 * a handler of Node's has written or will write is only waited for.
 */
export function exchangeMiddleware(options: ExchangeOptions): Koa.Middleware<ExchangeState> {
  const { limits, draining, allowCrossOrigin } = options
  const slots = createSlots(limits.concurrentRequestsMax)
  return async (context, next) => {
    const { req, res, state } = context
    state.requestId = newRequestId()
    state.ending = new AbortController()
    if (draining()) res.setHeader('connection', 'close')
    // What others write bears it too.
    if (state.operation === undefined) res.setHeader('x-request-id', state.requestId)
    const record = openRecord(context, slots.take(), options)
    try {
      if (slots.isOver() && !isProbe(req)) throw overloaded()
      if (allowCrossOrigin(req, res)) state.answer = { status: 204 }
      else await next()
      if (state.answer === undefined) return leaveToOthers(context, record, options)
      if (state.answer.held) record.leaveWork()
      context.respond = false
      const { requestId } = state
      const { pingIntervalMs } = limits
      const sent = send(res, state.answer, { requestId, pingIntervalMs })
      if (sent !== undefined) await sent
      record.end()
    } catch (thrown) {
      context.respond = false
      await refuse(context, thrown, options)
      record.end(thrown)
    }
    return undefined
  }
}

/** Who is in work, and whether they are too many. */
function createSlots(most: number) {
  let taken = 0
  return {
    isOver: () => taken > most,
    /** Gives what frees the slot, once. */
    take: () => {
      let isHeld = true
      taken++
      return () => {
        if (isHeld) taken--
        isHeld = false
      }
    },
  }
}

type ExchangeRecord = ReturnType<typeof openRecord>

/** Follows an exchange to its end, which is told once. */
function openRecord(
  { req, res, state }: Context,
  leaveWork: () => void,
  { onExchange, clock }: ExchangeOptions,
) {
  const startedAt = clock()
  let left = false
  let isClosed = false
  let onClose: (() => void) | undefined
  res.once('close', () => {
    isClosed = true
    if (!res.writableFinished) {
      left = true
      state.ending.abort(callerLeft())
    }
    onClose?.()
  })
  const end = (thrown?: unknown) => {
    leaveWork()
    const { requestId, caller } = state
    const { method = '' } = req
    const path = pathOf(req)
    const status = left && !res.headersSent ? statusOfLeft : res.statusCode
    const durationMs = clock() - startedAt
    const error = thrown instanceof ClientLeft ? undefined : thrown
    onExchange({ requestId, method, path, status, durationMs, caller, error, left })
  }
  return {
    leaveWork,
    end,
    /** Ends it with its answer, whoever writes that. */
    endWithAnswer: () => {
      if (isClosed) end()
      else onClose = end
    },
  }
}

/** The answer is Koa's to write, or was left to a handler of Node's; one that there is not is refused. */
function leaveToOthers(
  context: Context,
  record: ExchangeRecord,
  { refuse }: ExchangeOptions,
): void {
  const { req, res } = context
  const isTaken = context.respond === false || res.headersSent || res.writableEnded
  // Koa's own status until somebody sets another one.
  const isAnswered = isTaken || context.status !== 404 || context.body != null
  if (!isAnswered) refuse(req, methodsOf(context))
  record.endWithAnswer()
}

type Matched = { matched?: { methods: string[] }[] }

/** The methods that the router has for a path. */
function methodsOf(context: Context): string[] {
  const { matched = [] } = context as Matched
  return [...new Set(matched.flatMap((layer) => layer.methods))]
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

function overloaded(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is busy. Try again in a moment.', {
    retryAfterSeconds: 1,
  })
}
