import { setTimeout as sleep } from 'node:timers/promises'
import type { Deadline } from './deadline.ts'
import { ProviderFailure, mostRelevantFailure, type FailureKind } from '../failure.ts'
import type { Spent } from '../money/pricing.ts'
import type { Readiness, Route, Selection } from '../route.ts'
import type { TraceHeaders, TracedTry } from '../trace.ts'

/** One try of one route, as stored in the ledger and listed in `x-gateway-attempts`. */
export type Attempt = {
  provider: string
  upstreamModel: string
  outcome: 'ok' | FailureKind
  /** The HTTP status of the upstream's answer; absent without an answer. */
  status?: number
  /** The vendor's error message, without texts of the caller; absent without one. */
  message?: string
  /** Milliseconds from the start of the call to the start of the try. */
  startMs: number
  durationMs: number
  /** The cost of an answer that was not delivered; null when no price is known. */
  costNanoUsd?: number | null
}

/** A try of a call, and its failure. */
export type Try = {
  route: Route
  attempt: Attempt
  failure?: ProviderFailure | undefined
  /** The usage of an answer that was not delivered. */
  spent?: Spent
}

/** Collects the outcomes of tries, which order the routes (policy/route-order.ts). */
export type RouteHealth = {
  began(route: Route): void
  /** Reports the end of a try. A failure that is the caller's fault leaves the route healthy. */
  ended(route: Route, failure?: ProviderFailure): void
}

/** How often a call is retried, and after which pauses. */
export type FailoverPolicy = {
  limits: {
    /** Tries of one call, all routes together. */
    triesMax: number
    /** Tries of one route in one call; tries with another key do not count. */
    routeTriesMax: number
    /** The first pause; each further pause is twice as long. */
    retryDelayMs: number
    /** The longest pause; a route that asks for a longer pause is not retried. */
    retryDelayMaxMs: number
  }
  health: RouteHealth
  sleep: (delayMs: number, signal: AbortSignal) => Promise<void>
  /** A random number from 0 up to, but excluding, 1. */
  random: () => number
}

/** The first rest of a route or key that failed: brief outages are over by then. */
export const restMs = 5000
/** The longest rest: a vendor that has recovered is found within a minute. */
export const restMaxMs = 60_000

/** Waits; resolves early when the signal aborts. */
export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined)
}

type Options<T> = {
  selection: Pick<Selection, 'routes' | 'routesMax' | 'admits' | 'refusal'>
  /** Checks a route just before its first try. */
  ready?: ((route: Route) => Readiness) | undefined
  attempt: (route: Route, traceHeaders: TraceHeaders | undefined) => Promise<T>
  /** Receives each try, also when all tries fail. */
  tries: Try[]
  deadline: Pick<Deadline, 'signal' | 'endsAt'>
  monotonic: () => number
  /** When the call began, as `monotonic` measures. */
  begunAt: number
  report: (attempt: Attempt) => void
  /** Begins the trace of a try; absent when the call is not traced. */
  follow?: ((route: Route) => TracedTry) | undefined
  policy: FailoverPolicy
  /** For a stream: an attempt resolves when the stream begins; the caller reports the health at its end. */
  isStream?: boolean
}

/**
 * Tries the routes in order until one answers, then retries those that may succeed after a pause. Throws the
 * ProviderFailure of `mostRelevantFailure` when all routes fail, immediately for a failure that any route
 * would repeat, and a GatewayError when no route supports the request.
 */
export async function failover<T>(
  options: Options<T>,
): Promise<{ value: T; route: Route; winner: Try }> {
  const { selection, attempt, deadline, policy } = options
  const { triesMax, routeTriesMax } = policy.limits
  const failures = new Map<Route, ProviderFailure>()
  let triesLeft = triesMax
  let waiting: Iterable<Route> = ableRoutes(options)
  for (let round = 1; ; round++) {
    for (const route of waiting) {
      let failure: ProviderFailure
      do {
        if (triesLeft-- <= 0) throw failureToReport(failures)
        policy.health.began(route)
        const startedAt = options.monotonic()
        const traced = options.follow?.(route)
        try {
          const value = await attempt(route, traced?.headers)
          traced?.ended({ outcome: 'ok' })
          if (options.isStream !== true) policy.health.ended(route)
          return { value, route, winner: note(options, route, startedAt) }
        } catch (error) {
          failure = failed(options, { route, startedAt, traced }, error)
        }
        failures.set(route, failure)
        if (!failure.mayTryNext || deadline.signal.aborted) throw failure
      } while (failure.concernsKey && route.provider.hasSpareKey?.() === true)
    }
    if (failures.size === 0) throw selection.refusal()
    if (round >= routeTriesMax || triesLeft <= 0) throw failureToReport(failures)
    const again = await waitForRound(options, failures, round)
    if (again.length === 0) throw failureToReport(failures)
    waiting = again
  }
}

/** The routes in order, each checked only when its turn comes. */
function* ableRoutes<T>({ selection, ready }: Options<T>): Generator<Route> {
  let left = selection.routesMax
  for (const route of selection.routes) {
    if (left <= 0) return
    if (ready !== undefined && !selection.admits(route, ready(route))) continue
    left--
    yield route
  }
}

/** Reports the failure of a try and returns it; rethrows an error that is no ProviderFailure. */
function failed<T>(
  options: Options<T>,
  { route, startedAt, traced }: { route: Route; startedAt: number; traced: TracedTry | undefined },
  error: unknown,
): ProviderFailure {
  const { health } = options.policy
  if (!(error instanceof ProviderFailure)) {
    traced?.ended({ outcome: 'internal_error' })
    health.ended(route, notAsked)
    throw error
  }
  const { kind: outcome, status } = error
  traced?.ended(status === undefined ? { outcome } : { outcome, status })
  health.ended(route, error)
  note(options, route, startedAt, error)
  return error
}

/** The failure of a try whose error does not affect the route's health. */
const notAsked = new ProviderFailure('cancelled', 'The request was not sent.')

function note<T>(
  { tries, report, monotonic, begunAt }: Options<T>,
  route: Route,
  startedAt: number,
  failure?: ProviderFailure,
): Try {
  const attempt: Attempt = {
    provider: route.provider.id,
    upstreamModel: route.upstreamModel,
    outcome: failure?.kind ?? 'ok',
    startMs: Math.round(startedAt - begunAt),
    durationMs: monotonic() - startedAt,
  }
  if (failure?.status !== undefined) attempt.status = failure.status
  if (failure?.words) attempt.message = failure.words
  const made: Try = { route, attempt, failure }
  tries.push(made)
  report(attempt)
  return made
}

/** Waits, then returns the routes to retry; none when the pause is too long or exceeds the deadline. */
async function waitForRound<T>(
  { deadline, monotonic, policy }: Options<T>,
  failures: ReadonlyMap<Route, ProviderFailure>,
  round: number,
): Promise<Route[]> {
  const { retryDelayMs, retryDelayMaxMs } = policy.limits
  const again = [...failures]
    .filter(([, failure]) => failure.mayTryAgain)
    .map(([route, { retryAfterSeconds = 0 }]) => ({ route, askedMs: retryAfterSeconds * 1000 }))
    .filter(({ askedMs }) => askedMs <= retryDelayMaxMs)
  if (again.length === 0) return []
  // Half of the delay is random, so that calls that failed together do not retry together.
  const backOffMs = retryDelayMs * 2 ** (round - 1) * (0.5 + policy.random() / 2)
  const askedMs = Math.min(...again.map((one) => one.askedMs))
  const delayMs = Math.max(Math.min(backOffMs, retryDelayMaxMs), askedMs)
  if (monotonic() + delayMs >= deadline.endsAt) return []
  await policy.sleep(delayMs, deadline.signal)
  if (deadline.signal.aborted) throw deadline.signal.reason
  return again.filter((one) => one.askedMs <= delayMs).map(({ route }) => route)
}

function failureToReport(failures: ReadonlyMap<Route, ProviderFailure>): Error {
  return mostRelevantFailure([...failures.values()]) ?? new Error('No route was tried.')
}
