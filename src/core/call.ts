import type { CallContext } from './caller.ts'
import type { Deadline, StartDeadline } from './deadline.ts'
import { GatewayError, toGatewayError } from './error.ts'
import { errorAfter, ProviderFailure } from './failure.ts'
import { failover, type Attempt, type FailoverPolicy } from './failover.ts'
import type { Model, Warning } from './model.ts'
import type { Cost, PictureTraits, Usage } from './price.ts'
import {
  cachedCost,
  costOfAnswer,
  noCost,
  usageRow,
  type Modality,
  type Receipt,
  type RequestLimit,
  type UsageRow,
} from './receipt.ts'
import type { Route } from './route.ts'

type Parts = {
  startDeadline: StartDeadline
  report: (route: Route, attempt: Attempt, context: CallContext) => void
  record: (row: UsageRow) => Promise<void>
  clock: () => number
  failover: FailoverPolicy
}
type Options = {
  context: CallContext
  modality: Modality
  model: string
  limit: RequestLimit
  timeoutMs: number
}

/** What a route delivered, as far as book-keeping cares. */
export type Delivered = { route: Route; usage: Usage | undefined; picture?: PictureTraits }

/** One call on its way through the sequence: its deadline, its attempts and its row in the ledger. */
export type Call = {
  startedAt: number
  deadline: Deadline
  attempts: readonly Attempt[]
  /** Tries the routes in order (core/failover.ts). */
  tryRoutes<T>(
    routes: readonly Route[],
    attempt: (route: Route) => Promise<T>,
    /** The answer goes on when it is there. */
    goesOn?: boolean,
  ): Promise<{ value: T; route: Route }>
  /** The receipt so far, of an answer that is still being delivered. */
  receiptSoFar(route: Route, warnings: readonly Warning[]): Receipt
  /** Records a delivered answer; the row is durable when the receipt is there. */
  succeed(delivered: Delivered, warnings: readonly Warning[]): Promise<Receipt>
  /** Records an answer out of the cache. */
  replay(
    model: Model,
    provider: string,
    usage: Usage | undefined,
    warnings: readonly Warning[],
  ): Promise<Receipt>
  /** Records a call that an upstream failed or the caller left, and gives what the caller is told. */
  fail(thrown: unknown, delivered?: Delivered): Promise<GatewayError>
}

/** Opens a call; its deadline runs from here and is cleared by `succeed` and `fail`. */
export function openCall(parts: Parts, options: Options): Call {
  const { context, modality, limit } = options
  const { mode } = context.caller
  const startedAt = parts.clock()
  const deadline = parts.startDeadline(context.ending, options.timeoutMs, startedAt)
  const attempts: Attempt[] = []
  const cache = context.cache.recall ? 'miss' : 'bypass'
  let routesTried = 0
  let unended = false

  const record = (ending: Pick<UsageRow, 'outcome' | 'cache'> & Partial<Delivered> & Ended) => {
    deadline.clear()
    const endedAt = parts.clock()
    const { model } = options
    return parts.record(
      usageRow({ model, context, modality, startedAt, endedAt, attempts, ...ending }),
    )
  }

  const same = { attempts, limit, mode }
  const receipt = (told: Omit<Receipt, keyof typeof same>): Receipt => ({ ...told, ...same })
  return {
    startedAt,
    deadline,
    attempts,
    tryRoutes: (routes, attempt, goesOn = false) => {
      unended = goesOn
      routesTried = Math.max(routesTried, routes.length)
      const report = (route: Route, made: Attempt) => parts.report(route, made, context)
      const { clock, failover: policy } = parts
      return failover({ routes, attempt, attempts, deadline, clock, report, policy, goesOn })
    },
    receiptSoFar: ({ model, provider }, warnings) => {
      const cost: Cost = { nanoUsd: null, status: 'unknown', details: { mode } }
      return receipt({ model, provider: provider.id, cost, cache, warnings })
    },
    succeed: async ({ route, usage, picture }, warnings) => {
      const { model, provider } = route
      if (unended) parts.failover.health.ended(route)
      const cost = costOfAnswer(model, usage, mode, picture)
      await record({ outcome: 'ok', cache, route, usage, cost })
      return receipt({ model, provider: provider.id, cost, cache, warnings })
    },
    replay: async (model, provider, usage, warnings) => {
      const cost = cachedCost(mode)
      await record({ outcome: 'ok', cache: 'hit', usage, cost, model: model.row.id })
      return receipt({ model, provider, cost, cache: 'hit', warnings })
    },
    fail: async (thrown, delivered) => {
      deadline.clear()
      const failure = thrown instanceof ProviderFailure ? thrown : undefined
      // Whatever broke off behind the first byte: the route was taken for a good one until then.
      if (delivered && failure) parts.failover.health.ended(delivered.route, failure)
      const error = failure ? errorAfter(failure, routesTried) : toGatewayError(thrown)
      // A call that never reached a provider, nor waited for one that did, was refused, not made.
      if (attempts.length === 0 && failure === undefined && !wasJoined(thrown)) return error
      const outcome = failure?.kind === 'cancelled' ? 'cancelled' : 'failed'
      const cost = delivered
        ? costOfAnswer(delivered.route.model, delivered.usage, mode)
        : noCost(mode)
      await record({ outcome, errorCode: error.code, cache, cost, usage: undefined, ...delivered })
      return error
    },
  }
}

/** An identical call failed, and this one had waited for its answer. */
function wasJoined(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.cause instanceof ProviderFailure
}

type Ended = Pick<Parameters<typeof usageRow>[0], 'cost' | 'usage'> & {
  errorCode?: GatewayError['code']
  model?: string
}
