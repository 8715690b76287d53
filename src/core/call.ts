import type { CallContext } from './caller.ts'
import type { Deadline, StartDeadline } from './deadline.ts'
import { GatewayError, toGatewayError } from './error.ts'
import { failover, type Attempt, type FailoverPolicy } from './failover.ts'
import { errorAfter, ProviderFailure } from './failure.ts'
import type { Model, Warning } from './model.ts'
import type { Cost, PictureTraits, Usage } from './price.ts'
import {
  cachedCost,
  costOfAnswer,
  noCost,
  usageRow,
  type Modality,
  type Receipt,
  type UsageRow,
} from './receipt.ts'
import type { Readiness, Route, Selection } from './route.ts'

/** What a call needs from outside. */
export type CallParts = {
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
  timeoutMs: number
}

/** What a route delivered, as far as book-keeping cares. */
export type Delivered = { route: Route; usage: Usage | undefined; picture?: PictureTraits }

export type TryOptions = {
  /** What is known of a route just before it is tried for the first time. */
  ready?: (route: Route) => Readiness
  /** The answer has only begun when it is there: `succeed` or `fail` tell how the route did. */
  goesOn?: boolean
}

/** One call on its way through the sequence: its deadline, its attempts and its row in the ledger. */
export type Call = {
  startedAt: number
  deadline: Deadline
  /** Tries the routes in order (core/failover.ts). */
  tryRoutes<T>(
    selection: Selection,
    attempt: (route: Route) => Promise<T>,
    options?: TryOptions,
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
export function openCall(parts: CallParts, options: Options): Call {
  const { context, modality } = options
  const { mode } = context.caller
  const startedAt = parts.clock()
  const deadline = parts.startDeadline(context.ending, options.timeoutMs, startedAt)
  const attempts: Attempt[] = []
  const tried = new Set<Route>()
  const cache = context.cache.recall ? 'miss' : 'bypass'
  let unended = false

  const record = (ending: Pick<UsageRow, 'outcome' | 'cache'> & Partial<Delivered> & Ended) => {
    deadline.clear()
    const endedAt = parts.clock()
    const { model } = options
    return parts.record(
      usageRow({ model, context, modality, startedAt, endedAt, attempts, ...ending }),
    )
  }

  const same = { attempts, mode }
  const receipt = (told: Omit<Receipt, keyof typeof same>): Receipt => ({ ...told, ...same })
  return {
    startedAt,
    deadline,
    tryRoutes: (selection, attempt, { ready, goesOn = false } = {}) => {
      unended = goesOn
      const report = (route: Route, made: Attempt) => {
        tried.add(route)
        parts.report(route, made, context)
      }
      const { clock, failover: policy } = parts
      const options = { selection, ready, attempt, attempts, deadline, clock, report, policy }
      return failover({ ...options, goesOn })
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
      const error = failure ? errorAfter(failure, tried.size) : toGatewayError(thrown)
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
