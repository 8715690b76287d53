import type { CallContext } from './caller.ts'
import type { Cassette } from './cassette.ts'
import type { ChatTurn } from './chat/chat.ts'
import type { Deadline, StartDeadline } from './resilience/deadline.ts'
import { toGatewayError, type GatewayError } from './error.ts'
import { failover, type Attempt, type FailoverPolicy, type Try } from './resilience/failover.ts'
import { errorAfter, ProviderFailure } from './failure.ts'
import type { Admission, Demand } from './limits.ts'
import { joined, type FoundModels, type Model, type Warning } from './model.ts'
import { noUsage, type Usage } from './money/price.ts'
import type { CachedAnswer } from './repeats/cached-answer.ts'
import {
  cachedCost,
  costOfAnswer,
  failedEnd,
  receiptOf,
  usageRow,
  wasJoined,
  withOtherTries,
  type CallEnd,
  type Delivered,
  type MarkCall,
  type Modality,
  type Receipt,
  type Unmark,
  type UsageRow,
  type Whole,
} from './receipt.ts'
import type { Readiness, Route, Selection } from './route.ts'
import type { Reservation, ExactUsage, UpperUsage } from './money/upper-cost.ts'

/** The dependencies of a call. */
export type CallParts = {
  startDeadline: StartDeadline
  /** Called after each try of a route. */
  report: (attempt: Attempt, context: CallContext, isStream: boolean) => void
  /** Writes the ledger row of a call; `unmark` is called when the row is durable, then it resolves. */
  record: (row: UsageRow, unmark: Unmark) => Promise<void>
  mark: MarkCall
  /** Unix time in milliseconds, for the ledger row. */
  clock: () => number
  /** Milliseconds of a monotonic clock with an arbitrary start. */
  monotonic: () => number
  failover: FailoverPolicy
}

type CallStart = {
  context: CallContext
  modality: Modality
  /** The model as the caller named it. */
  model: string
  timeoutMs: number
  admission: Admission
  cassette: Cassette | undefined
}

/** One call: its deadline, its tries and its row in the ledger. */
export type Call = CallStart & {
  parts: CallParts
  cache: 'miss' | 'bypass' | 'replay'
  /** Unix time in milliseconds. */
  startedAt: number
  /** The same time, as `monotonic` measures. */
  begunAt: number
  deadline: Deadline
  tries: Try[]
  triesBegun: number
  /** A stream, whose health `succeed` or `fail` reports. */
  isStream: boolean
  /** The amount reserved in the caller's budgets (core/money/upper-cost.ts); undefined before that. */
  reservation: Reservation | undefined
  /** What the sandbox plays; undefined before the reservation, and for other keys. */
  played: string | undefined
  unmark: Unmark
  /** Resolves when `begin` of the context has ended; undefined before the first try. */
  begun: Promise<void> | undefined
  /** Resolves when the row is durable; undefined before the end. */
  recorded: Promise<void> | undefined
}

/** Opens a call; its deadline runs from here until `succeed`, `replay` or `fail`. */
export function openCall(parts: CallParts, start: CallStart): Call {
  const { context, timeoutMs, cassette } = start
  const uncached = cassette?.plays === true ? 'replay' : 'bypass'
  const [startedAt, begunAt] = [parts.clock(), parts.monotonic()]
  return {
    ...start,
    parts,
    cache: context.cache.mayRead ? 'miss' : uncached,
    startedAt,
    begunAt,
    deadline: parts.startDeadline(context.ending, timeoutMs, begunAt),
    tries: [],
    triesBegun: 0,
    isStream: false,
    reservation: undefined,
    played: undefined,
    unmark: undefined,
    begun: undefined,
    recorded: undefined,
  }
}

type TryOptions = {
  /** Checks a route just before its first try. */
  ready?: (route: Route) => Readiness
  /** For a stream: an attempt resolves when the stream begins, and `succeed` or `fail` report the health. */
  isStream?: boolean
  /** Limits further tries without aborting a running try; by default the deadline of the call. */
  deadline?: Pick<Deadline, 'signal' | 'endsAt'>
}

/** Tries the routes in order (core/resilience/failover.ts). */
export function tryRoutes<T>(
  call: Call,
  selection: Selection,
  attempt: (route: Route, turn: ChatTurn) => Promise<T>,
  { ready, isStream = false, deadline = call.deadline }: TryOptions = {},
): Promise<{ value: T; route: Route; winner: Try }> {
  const { parts, context, modality } = call
  const { trace } = context
  call.isStream = isStream
  const isReplay = call.cassette?.plays === true
  return failover({
    selection,
    ready,
    attempt: (route, traceHeaders) => {
      const turn = turnOf(call, route.upstreamModel, traceHeaders)
      call.unmark ??= parts.mark(call)
      if (context.begin === undefined) return attempt(route, turn)
      const { startedAt, timeoutMs } = call
      call.begun ??= context.begin({
        modelId: route.model.row.id,
        startedAt,
        endsAt: startedAt + timeoutMs,
      })
      return call.begun.then(() => attempt(route, turn))
    },
    tries: call.tries,
    deadline,
    monotonic: parts.monotonic,
    begunAt: call.begunAt,
    // The metrics of attempts are about vendors.
    report: isReplay ? () => undefined : (ended) => parts.report(ended, context, isStream),
    follow: trace && ((route) => trace.tryBegins(route, { modality, streams: isStream })),
    policy: isReplay ? { ...parts.failover, sleep: () => Promise.resolve() } : parts.failover,
    isStream,
  })
}

function turnOf(call: Call, model: string, traceHeaders: ChatTurn['traceHeaders']): ChatTurn {
  const { memory, vendorKey, tasks } = call.context
  return {
    signal: call.deadline.signal,
    memory,
    createdSeconds: Math.floor(call.startedAt / 1000),
    idempotencyKey: vendorKey && `${vendorKey}-${++call.triesBegun}`,
    traceHeaders,
    cassette: call.cassette && { ...call.cassette, model },
    played: call.played,
    tasks,
  }
}

/** Records a delivered answer; resolves when the row is durable. */
export async function succeed(
  call: Call,
  delivered: Delivered,
  warnings: readonly Warning[],
): Promise<Receipt> {
  const { route, usage, servedModel, picture } = delivered
  const { model, provider } = route
  if (call.isStream) call.parts.failover.health.ended(route)
  call.admission.end(usage)
  const cost = withOtherTries(costOfAnswer(call, { model, usage, picture }), call)
  const { cache } = call
  await record(call, { outcome: 'ok', cache, route, usage, servedModel, cost, warnings })
  return receiptOf(call, { model, provider: provider.id, cost, cache, warnings })
}

/** Records an answer from the cache. */
export async function replay(call: Call, model: Model, cached: CachedAnswer): Promise<Receipt> {
  call.admission.end(noUsage)
  const { usage, warnings, provider, costNanoUsd: savedNanoUsd } = cached
  const hit = { cost: cachedCost(call.context.caller.mode), cache: 'hit' as const, warnings }
  await record(call, { outcome: 'ok', ...hit, model: model.row.id, usage, savedNanoUsd })
  return receiptOf(call, { model, provider, ...hit })
}

/** Records a call that failed or was cancelled; returns the error for its caller. */
export async function fail(
  call: Call,
  thrown: unknown,
  delivered?: Delivered,
): Promise<GatewayError> {
  call.deadline.clear()
  call.admission.end(delivered ? delivered.usage : noUsage)
  const failure = thrown instanceof ProviderFailure ? thrown : undefined
  // A stream that breaks off after its first event counts against the route's health.
  if (delivered && failure) call.parts.failover.health.ended(delivered.route, failure)
  const error = failure ? errorAfter(failure, call.tries) : toGatewayError(thrown)
  // A call is not recorded if neither this call nor a call that it joined made an attempt.
  if (call.tries.length === 0 && failure === undefined && !wasJoined(thrown)) {
    await call.reservation?.release()
    call.unmark?.()
    call.unmark = undefined
    return error
  }
  const end = failedEnd(failure, delivered, call)
  await record(call, { ...end, errorCode: error.code, cache: call.cache })
  return error
}

/** Records a call once: when writing its row fails, no second row with another outcome is written. */
function record(call: Call, end: CallEnd): Promise<void> {
  if (call.recorded !== undefined) return call.recorded
  const { context, reservation, parts } = call
  call.deadline.clear()
  const row = usageRow(call, end, parts.monotonic() - call.begunAt)
  context.trace?.recorded?.(row)
  if (row.id === context.exchange.requestId) context.exchange.row = row
  const write = () => parts.record(row, call.unmark)
  call.recorded = reservation ? reservation.settle(row.costNanoUsd, write) : write()
  return call.recorded
}

/** The steps of a call that depend on its modality (ARCHITECTURE.md#the-life-of-a-request). */
export type Work<Outcome, Answer> = {
  modality: Modality
  /** The models that may answer, in order. */
  models: FoundModels
  timeoutMs: number
  /** Adjustments made before the sequence began. */
  warnings: readonly Warning[]
  /** Throws a GatewayError for a request that no model can answer. */
  checkRequest?(): void
  /** The prompt, or the user's last message. */
  prompt(): string
  /** The requests, tokens and pictures to count against the caller's limits. */
  demand: Demand
  /** Whether a route supports the request, without building the vendor's request, which `ready` does. */
  check(route: Route): Readiness
  /** Upper bound of the usage on a route that passed `check`. */
  upperUsage(route: Route): UpperUsage
  /** The exact usage, when it is known before the call; `first` is the route that is tried first. */
  exactUsage?(route: Route, first: Route): ExactUsage | undefined
  ready?(route: Route): Readiness
  /** Fetches and completes the inputs, before the deadline; undefined when there are none. Throws a GatewayError. */
  read?(call: Call): Promise<void> | undefined
  /** The value that the cache key is computed from; called after `read`. */
  canonical(): unknown
  /** Whether identical calls in flight share one upstream call. */
  isShared: boolean
  /** Whether the answer is neither cached nor shared. */
  isNeverCached?: boolean
  /** Tries the routes. Throws a ProviderFailure or GatewayError when all fail. */
  make(call: Call, selection: Selection): Promise<Outcome>
  /** Converts the result to the answer and records the call before the answer ends. */
  deliver(result: Outcome, delivery: Delivery): Promise<Answer>
  /** Returns a cached answer; its call is recorded already. */
  replay(cached: CachedAnswer, receipt: Receipt): Answer
}

/** The arguments of `deliver`. */
export type Delivery = {
  call: Call
  /** Adjustments that apply to every route. */
  warnings: readonly Warning[]
  /** Passes the answer to the calls that joined this call and to the cache; absent for private answers. */
  share: ((pack: () => CachedAnswer) => void) | undefined
}

/** The outcome of a call that is answered in one piece. */
export type Answered<Result> = {
  result: Result
  usage: Usage | undefined
  receipt: Receipt
}

/** Records a complete answer, and caches it in the form that `pack` gives. */
export async function deliverWhole<Result>(
  whole: Whole<Result>,
  { call, warnings, share }: Delivery,
  pack: (result: Result) => unknown,
): Promise<Answered<Result>> {
  const { result, usage, bytes } = whole
  const receipt = await succeed(call, whole, joined(warnings, whole.warnings))
  if (share !== undefined) {
    const { model, provider, warnings, cost } = receipt
    // Deferred so that the answer is sent first; until then identical calls find the answer in flight.
    setImmediate(() =>
      share(() => {
        const [modelId, costNanoUsd] = [model.row.id, cost.nanoUsd]
        return { modelId, provider, usage, warnings, costNanoUsd, bytes, result: pack(result) }
      }),
    )
  }
  return { result, usage, receipt }
}
