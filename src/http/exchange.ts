import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MemoryBudget, MemoryHold } from '../bytes/memory-budget.ts'
import { isCheck, type CallContext, type Caller, type FinishedExchange } from '../core/caller.ts'
import { callerLeft } from '../core/resilience/deadline.ts'
import { Ending } from '../core/resilience/ending.ts'
import { GatewayError, toGatewayError } from '../core/error.ts'
import { orderedId } from '../core/ordered-id.ts'
import type { RequestTrace, Tracing } from '../core/trace.ts'
import { send, type Answer } from './answer.ts'
import { holdUnread } from './connection-table.ts'
import type { AllowCrossOrigin } from './cross-origin.ts'
import { lateErrorHeaders, type ErrorAnswer } from './error-answer.ts'
import { ClientLeft } from './receive.ts'
import type { OpenStream, ResponseStream, ResponseStreams } from './response-stream.ts'

/** A request, its response and their state; outside of the contract's table a Koa context. */
export type ExchangeContext = {
  req: IncomingMessage
  res: ServerResponse
  state: ExchangeState
  params?: object
  /** False if Koa must not write the response. */
  respond?: boolean
  status?: number
  body?: unknown
  /** The routes of @koa/router that match the path. */
  matched?: readonly { methods: string[]; path?: unknown }[]
}

/** Answers a request to a path of the contract. */
export type OperationHandler = (context: ExchangeContext) => Promise<void>

/** Called with each error that is sent as an answer, and with its request. */
type OnRefused = (
  error: GatewayError,
  refused: { request: IncomingMessage; requestId: string; caller: Caller | undefined },
) => void

/** The state that middleware and handlers share. */
export type ExchangeState = CallContext['exchange'] & {
  /** Ends the work of the request when the client disconnects, or when the API key of the request ends. */
  ending: Ending
  /** The memory that the exchange holds; released at its end. */
  memory: MemoryHold
  /** An error of the request itself, after which the connection is closed. */
  refusal?: GatewayError | undefined
  operation?: OperationHandler | undefined
  caller?: Caller
  /** The trace of the exchange, if tracing is on. */
  trace?: RequestTrace | undefined
  /** Set if the request streams its answer. */
  stream?: OpenStream | undefined
  /** The status of an error that came after the head. */
  lateStatus?: number | undefined
  /** Set if `send` writes the answer; plain Koa middleware and Node handlers leave it unset. */
  answer?: Answer
}

export type ExchangeOptions = {
  limits: { concurrentRequestsMax: number; lingerTimeoutMs: number }
  streams: ResponseStreams
  /** Whether the connection is closed after the response. */
  closing: (request: IncomingMessage) => boolean
  errorAnswerAt: (path: string) => ErrorAnswer
  /** Throws the error for a request that no handler has answered. */
  refuse: (request: IncomingMessage, methods: readonly string[]) => never
  allowCrossOrigin: AllowCrossOrigin
  onExchange: (exchange: FinishedExchange) => void
  onRefused: OnRefused
  tracing?: Tracing | undefined
  memoryBudget: Pick<MemoryBudget, 'open'>
  /** Ends the exchange when its API key ends, until the returned function is called. */
  followKey: (exchange: Pick<ExchangeState, 'caller' | 'ending'>) => () => void
  /** Unix time in milliseconds. */
  clock: () => number
  monotonic: () => number
}

/**
 * Gives each exchange a request id, exactly one response and one log record. `state.answer` is
 * written here. Koa writes what plain Koa middleware has set. The response of a raw Node handler is
 * awaited.
 */
export function createExchange(
  options: ExchangeOptions,
): (context: ExchangeContext, next?: () => Promise<void>) => Promise<void> {
  const { limits, closing, allowCrossOrigin, tracing } = options
  const slots = { taken: 0 }
  return async (context, next) => {
    const { req, res, state } = context
    state.requestId = newRequestId(options.clock())
    state.ending = new Ending()
    state.memory = options.memoryBudget.open()
    // Responses that `send` does not write also need the request id.
    if (state.operation === undefined) res.setHeader('x-request-id', state.requestId)
    if (tracing !== undefined && !isCheck(pathOf(req))) state.trace = tracing.request(req.headers)
    const running = begin(context, slots, options)
    try {
      const isPreflight = allowCrossOrigin(req, res)
      if (state.refusal !== undefined) throw state.refusal
      if (slots.taken > limits.concurrentRequestsMax && !isProbe(req)) throw overloaded()
      if (isPreflight) state.answer = { status: 204 }
      else await (state.operation ?? next!)(context)
      if (closing(req) && !res.headersSent) res.setHeader('connection', 'close')
      if (state.answer === undefined) return passToRouter(running, options)
      if (state.answer.staysOpen) leaveSlot(running)
      context.respond = false
      const sent = send(res, state.answer, state, options)
      if (sent !== undefined) await sent
      if (state.answer.after !== undefined)
        await state.answer.after.then(() => holdUnread(res, state.memory))
      end(running, options)
    } catch (thrown) {
      context.respond = false
      // The response failed, so no one will read the stream of the call.
      if (!(thrown instanceof GatewayError)) state.ending.leave(callerLeft())
      await refuse(context, thrown, options)
      end(running, options, thrown)
    }
    return undefined
  }
}

/** A running exchange; it holds a slot of the concurrent requests until its response is closed. */
type Running = ReturnType<typeof begin>

function begin(context: ExchangeContext, slots: { taken: number }, options: ExchangeOptions) {
  const { res, state } = context
  slots.taken++
  const running = {
    context,
    slots,
    hasSlot: true,
    startedAt: options.monotonic(),
    leaveKey: options.followKey(state),
    /** Whether the client disconnected before the response was complete. */
    left: false,
    isClosed: false,
    isOver: false,
    /** The response is written elsewhere, and its close ends the exchange. */
    endsOnClose: false,
  }
  res.once('close', () => {
    running.isClosed = true
    if (!res.writableFinished) {
      running.left = true
      state.ending.leave(callerLeft())
    }
    if (running.endsOnClose) end(running, options)
    else if (running.isOver) free(running)
  })
  return running
}

function leaveSlot(running: Running): void {
  if (running.hasSlot) running.slots.taken--
  running.hasSlot = false
}

function free(running: Running): void {
  running.context.state.memory.release()
  leaveSlot(running)
}

/** Ends an exchange and reports it; called once. */
function end(running: Running, { onExchange, monotonic }: ExchangeOptions, thrown?: unknown): void {
  const { context, left, startedAt } = running
  const { req, res, state } = context
  running.isOver = true
  // Unread response bytes count until the connection is closed.
  if (running.isClosed) free(running)
  running.leaveKey()
  state.stream?.close()
  const { requestId, caller, row, lateStatus = res.statusCode } = state
  const { method = '' } = req
  const path = pathOf(req)
  const status = left && !res.headersSent ? statusOfLeft : lateStatus
  const durationMs = monotonic() - startedAt
  const error = thrown instanceof ClientLeft ? undefined : thrown
  const outcome = { status, durationMs, error, left, isStream: state.stream !== undefined }
  const exchange = { requestId, method, path, caller, row, ...outcome }
  if (state.trace?.ended !== undefined) {
    const errorCode = error === undefined ? undefined : toGatewayError(error).code
    state.trace.ended({ ...exchange, route: routeOf(context), errorCode })
  }
  onExchange(exchange)
}

/** Leaves the response to Koa or a raw Node handler. Throws if the request was not answered. */
function passToRouter(running: Running, options: ExchangeOptions): void {
  const { context } = running
  const { req, res } = context
  const isTaken = context.respond === false || res.headersSent || res.writableEnded
  // 404 is Koa's default status.
  const isAnswered = isTaken || context.status !== 404 || context.body != null
  if (!isAnswered) {
    const methods = methodsOf(context)
    // No answer of a route that supports the method: the object does not exist.
    options.refuse(req, methods.includes(req.method ?? '') ? [] : methods)
  }
  if (running.isClosed) end(running, options)
  else running.endsOnClose = true
}

function methodsOf({ matched = [] }: ExchangeContext): string[] {
  return [...new Set(matched.flatMap((layer) => layer.methods))]
}

function routeOf({ req, state, matched = [] }: ExchangeContext): string | undefined {
  if (state.operation !== undefined) return pathOf(req).replace(/(?<=.)\/$/, '')
  const path = matched.at(-1)?.path
  return typeof path === 'string' ? path.replaceAll(/[*:](\w+)/g, '{$1}') : undefined
}

/** The logged status if the client disconnected before the response (as in nginx); never sent. */
const statusOfLeft = 499

/** Answered under overload too, so that monitoring does not report a busy gateway as down. */
function isProbe(request: IncomingMessage): boolean {
  return request.url === '/health' || request.url === '/metrics'
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!
}

/** A request id; it contains the time, by which storage/request-place.ts finds the row. */
export function newRequestId(nowMs: number): string {
  return orderedId('req', nowMs)
}

/**
 * Answers with an error, a stream after its head with an error event. The rest of the request body is
 * read for up to `lingerTimeoutMs`.
 */
async function refuse(
  { req: request, res: response, state }: ExchangeContext,
  thrown: unknown,
  { limits, streams, closing, errorAnswerAt, onRefused }: ExchangeOptions,
): Promise<void> {
  if (thrown instanceof ClientLeft) return
  const { requestId, caller, stream } = state
  if (response.headersSent && stream === undefined) {
    response.destroy()
    return
  }
  const errorAnswer = errorAnswerAt(pathOf(request))
  const refused = toGatewayError(thrown)
  onRefused(refused, { request, requestId, caller })
  const error = errorAnswer(refused, { request, requestId })
  if (response.headersSent) {
    state.lateStatus = refused.status
    return stream?.end(errorEvents(refused, error, stream.stream))
  }
  const closes = !request.complete || state.refusal !== undefined || closing(request)
  if (closes) response.setHeader('connection', 'close')
  const requestRead = request.complete ? undefined : readRest(request, limits.lingerTimeoutMs)
  await send(response, error, { ...state, stream: undefined }, { streams, requestRead })
}

/** The last events of a stream that failed, in the form of its API. */
function errorEvents(
  error: GatewayError,
  { json }: Answer,
  { form: { failed } }: ResponseStream,
): Buffer {
  const late = { late_headers: lateErrorHeaders(error) }
  if (failed !== undefined) return failed(error, late)
  return Buffer.from(`event: error\ndata: ${JSON.stringify(Object.assign({}, json, late))}\n\n`)
}

/** Reads the rest: closing during an upload may discard the response before the client reads it. */
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
