import type { Hold } from '../bytes/budget.ts'
import type { CallContext } from './caller.ts'
import { beginning } from './resilience/background-calls.ts'
import type { Deadline, StartDeadline } from './resilience/deadline.ts'
import { toGatewayError, type GatewayError, type Progress } from './error.ts'
import { failedEnd, withOtherTries, wasJoined, type Delivered } from './money/failed-end.ts'
import { failover, type Attempt, type FailoverPolicy, type Try } from './resilience/failover.ts'
import { errorAfter, ProviderFailure } from './failure.ts'
import type { Admission, Demand } from './limits.ts'
import type { Model, Warning } from './model.ts'
import { noUsage, type Usage } from './money/price.ts'
import type { CachedAnswer } from './recall/cached-answer.ts'
import {
  cachedCost,
  costOfAnswer,
  receiptWriter,
  replayed,
  unknownCost,
  usageRow,
  type Modality,
  type Receipt,
  type UsageRow,
  type CallEnd,
  type StartedCall,
} from './receipt.ts'
import type { Readiness, Route, Selection } from './route.ts'
import type { BudgetHold } from './money/spending.ts'
import type { TraceHeaders, Trace, TracedTry, TracedWork } from './trace.ts'
import type { ExactUsage, UpperUsage } from './money/upper-cost.ts'

/** The dependencies of a call. */
export type CallParts = {
  startDeadline: StartDeadline
  /** Called after each try of a route. */
  report: (attempt: Attempt, context: CallContext, isStream: boolean) => void
  /** Writes the ledger row of a call; resolves when the row is durable. */
  record: (row: UsageRow) => Promise<void>
  /** Unix time in milliseconds, for the ledger row. */
  clock: () => number
  /** Milliseconds of a monotonic clock with an arbitrary start. */
  monotonic: () => number
  failover: FailoverPolicy
}
type Options = {
  context: CallContext
  modality: Modality
  model: string
  timeoutMs: number
  admission: Admission
}

type TryOptions = {
  /** Checks a route just before its first try. */
  ready?: (route: Route) => Readiness
  /** For a stream: an attempt resolves when the stream begins, and `succeed` or `fail` report the health. */
  isStream?: boolean
  /** Limits further tries without aborting a running try; by default the deadline of the call. */
  deadline?: Pick<Deadline, 'signal' | 'endsAt'>
}

/** One call: its deadline, its attempts and its row in the ledger. */
export type Call = {
  startedAt: number
  /** The memory that the call has reserved. */
  hold: Hold
  deadline: Deadline
  /** Whether a request that the vendor may have executed and charged may be sent again. */
  allowRepeat: boolean
  /** The amount reserved in the caller's budgets (core/money/spending.ts); undefined before that. */
  held: BudgetHold | undefined
  /** The tries of the call so far. */
  tries: Try[]
  /** Undefined when the call is not traced. */
  trace: Trace | undefined
  /** A new idempotency key for each try at a vendor; undefined when the caller sent no key. */
  nextVendorKey(): string | undefined
  /** Tries the routes in order (core/resilience/failover.ts). */
  tryRoutes<T>(
    selection: Selection,
    attempt: (route: Route, traceHeaders: TraceHeaders | undefined) => Promise<T>,
    options?: TryOptions,
  ): Promise<{ value: T; route: Route; made: Try }>
  /** The receipt of an answer that is still being delivered; its cost is not known yet. */
  receiptSoFar(route: Route, warnings: readonly Warning[]): Receipt
  /** Records a delivered answer; resolves when the row is durable. */
  succeed(delivered: Delivered, warnings: readonly Warning[]): Promise<Receipt>
  /** Records an answer from the cache. */
  replay(model: Model, known: CachedAnswer): Promise<Receipt>
  /** Records a call that failed or was cancelled; returns the error for its caller. */
  fail(thrown: unknown, delivered?: Delivered): Promise<GatewayError>
  /** The attempts and limits of the call so far, for the headers of an error. */
  progress(): Required<Pick<Progress, 'attempts' | 'limits'>> & Pick<Progress, 'model'>
}

/** Opens a call; its deadline runs from here until `succeed`, `replay` or `fail`. */
export function openCall(parts: CallParts, options: Options): Call {
  const { context, modality, admission } = options
  const { monotonic } = parts
  const { mode } = context.caller
  const [startedAt, begunAt] = [parts.clock(), monotonic()]
  const deadline = parts.startDeadline(context.ending, options.timeoutMs, begunAt)
  const attempts: Attempt[] = []
  const tries: Try[] = []
  const cache = context.cache.recall ? 'miss' : 'bypass'
  let healthPending = false
  const keepRow = recorder(parts, context, () => {
    deadline.clear()
    const model = lastOf(tries).model?.id ?? options.model
    const durationMs = monotonic() - begunAt
    return { model, askedModel: options.model, context, modality, startedAt, durationMs, attempts }
  })
  const record = (end: CallEnd) => settling(call.held, keepRow(end))
  const receipt = receiptWriter({ attempts, mode }, admission)
  const call: Call = {
    ...contextMembers(context),
    startedAt,
    deadline,
    tries,
    held: undefined,
    tryRoutes: (selection, attempt, { ready, isStream = false, deadline: own = deadline } = {}) => {
      healthPending = isStream
      const follow = followed(context, { modality, streams: isStream })
      const report = (made: Attempt) => parts.report(made, context, isStream)
      const begun = beginning(context, startedAt + options.timeoutMs, attempt)
      const same = { attempts, tries, monotonic, begunAt, report, follow, policy: parts.failover }
      return failover({ ...same, selection, ready, attempt: begun, deadline: own, isStream })
    },
    receiptSoFar: ({ model, provider }, warnings) =>
      receipt({ model, provider: provider.id, cost: unknownCost(mode), cache, warnings }),
    succeed: async (delivered, warnings) => {
      const { route, usage, servedModel, picture } = delivered
      const { model, provider } = route
      if (healthPending) parts.failover.health.ended(route)
      admission.end(usage)
      const own = costOfAnswer({ model, usage, mode, atMs: startedAt, picture })
      const cost = withOtherTries(own, { mode, atMs: startedAt, tries })
      await record({ outcome: 'ok', cache, route, usage, servedModel, cost, warnings })
      return receipt({ model, provider: provider.id, cost, cache, warnings })
    },
    replay: async (model, known) => {
      admission.end(noUsage)
      const hit = { cost: cachedCost(mode), cache: 'hit' as const, warnings: known.warnings }
      await record({ outcome: 'ok', ...hit, ...replayed(model, known) })
      return receipt({ model, provider: known.provider, ...hit })
    },
    fail: async (thrown, delivered) => {
      deadline.clear()
      admission.end(delivered ? delivered.usage : noUsage)
      const failure = thrown instanceof ProviderFailure ? thrown : undefined
      // A stream that breaks off after its first event counts against the route's health.
      if (delivered && failure) parts.failover.health.ended(delivered.route, failure)
      const error = failure ? errorAfter(failure, tries) : toGatewayError(thrown)
      // A call is not recorded if neither this call nor a call that it joined made an attempt.
      if (attempts.length === 0 && failure === undefined && !wasJoined(thrown)) {
        await call.held?.release()
        return error
      }
      const end = failedEnd(failure, delivered, { mode, atMs: startedAt, tries })
      await record({ ...end, errorCode: error.code, cache })
      return error
    },
    progress: () => ({ attempts, limits: admission.limits(), ...lastOf(tries) }),
  }
  return call
}

/** The members of the context that a call exposes, with a generator of idempotency keys for vendors. */
function contextMembers(
  context: CallContext,
): Pick<Call, 'hold' | 'trace' | 'allowRepeat' | 'nextVendorKey'> {
  const { hold, trace, allowRepeat, vendorKey } = context
  let tries = 0
  const nextVendorKey = () => (vendorKey === undefined ? undefined : `${vendorKey}-${++tries}`)
  return { hold, trace, allowRepeat, nextVendorKey }
}

function followed(
  { trace }: CallContext,
  work: TracedWork,
): ((route: Route) => TracedTry) | undefined {
  return trace && ((route) => trace.tryBegins(route, work))
}

function settling(held: BudgetHold | undefined, kept: Promise<void>): Promise<void> {
  return held === undefined ? kept : kept.finally(held.settled)
}

/** Records a call once: when writing its row fails, no second row with another outcome is written. */
function recorder(
  { record }: CallParts,
  { trace, exchange }: CallContext,
  soFar: () => StartedCall,
): (end: CallEnd) => Promise<void> {
  let recorded: Promise<void> | undefined
  const keep = (end: CallEnd) => {
    const row = usageRow(soFar(), end)
    trace?.recorded?.(row)
    if (row.id === exchange.requestId) exchange.row = row
    return record(row)
  }
  return (end) => (recorded ??= keep(end))
}

function lastOf(tries: readonly Try[]): Pick<Progress, 'model'> {
  const last = tries.at(-1)
  return last === undefined ? {} : { model: last.route.model.row }
}

/** The steps of a call that depend on its modality (ARCHITECTURE.md#the-sequence-of-a-call). */
export type Work<Made, Answer> = {
  modality: Modality
  /** The models that may answer, in order. */
  models: readonly string[]
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
  read?(call: { signal: AbortSignal; hold: Hold }): Promise<void> | undefined
  /** The value that the cache key is computed from; called after `read`. */
  canonical(): unknown
  /** Whether identical calls in flight share one upstream call. */
  isShared: boolean
  /** Whether the answer is neither cached nor shared. */
  isNeverCached?: boolean
  /** Tries the routes. Throws a ProviderFailure or GatewayError when all fail. */
  make(call: Call, selection: Selection): Promise<Made>
  /** Converts the result to the answer and records the call before the answer ends. */
  deliver(made: Made, delivery: Delivery): Promise<Answer>
  /** Returns a cached answer; its call is recorded already. */
  replay(known: CachedAnswer, receipt: Receipt): Answer
}

/** The arguments of `deliver`. */
export type Delivery = {
  call: Call
  /** Adjustments that apply to every route. */
  warnings: readonly Warning[]
  /** Passes the answer to the calls that joined this call and to the cache; absent for private answers. */
  keep: ((pack: () => CachedAnswer) => void) | undefined
}

/** The outcome of a call that is answered in one piece. */
export type Answered<Result> = {
  result: Result
  usage: Usage | undefined
  receipt: Receipt
}

/** A complete result; `bytes` is roughly the memory that the result takes. */
export type Whole<Result> = Delivered & {
  result: Result
  bytes: number
  /** Adjustments of the route that answered. */
  warnings: readonly Warning[]
}

/** Records a complete answer, and caches it in the form that `pack` gives. */
export async function deliverWhole<Result>(
  made: Whole<Result>,
  { call, warnings, keep }: Delivery,
  pack: (result: Result) => unknown,
): Promise<Answered<Result>> {
  const { result, usage, bytes } = made
  const receipt = await call.succeed(made, joined(warnings, made.warnings))
  if (keep !== undefined) {
    const { model, provider, warnings, cost } = receipt
    // Deferred so that the answer is sent first; until then identical calls find the answer in flight.
    setImmediate(() =>
      keep(() => {
        const [modelId, costNanoUsd] = [model.row.id, cost.nanoUsd]
        return { modelId, provider, usage, warnings, costNanoUsd, bytes, result: pack(result) }
      }),
    )
  }
  return { result, usage, receipt }
}

/** Concatenates two lists of warnings; returns the first list itself when the second is empty. */
export function joined(warnings: readonly Warning[], more: readonly Warning[]): readonly Warning[] {
  return more.length === 0 ? warnings : [...warnings, ...more]
}
