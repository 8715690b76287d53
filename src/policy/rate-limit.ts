import type { Caller, UsageLimits } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type {
  Admission,
  Admit,
  CountRefused,
  Demand,
  LimitState,
  Used,
  WindowKind,
} from '../core/limits.ts'
import { noUsage } from '../core/money/price.ts'
import { createApplyingLimits, type ApplyingLimits, type WindowLimit } from './applying-limits.ts'
import { hasRoom, shareOf, type Counted, type LimitCounts, type Taken } from './limit-counts.ts'
import { refusalOf, type Refused } from './rate-limit-refusal.ts'

/** How long a window lasts. */
export const windowSeconds = 60

/** What a call needs of a window. */
type Need = { of: WindowLimit; points: number }
/** What is used of a window, the call included, and when the window ends. */
type Seen = Need & { used: number; endsAt: number }

type Options = {
  counts: LimitCounts
  /** What an account may use where it has no limits of its own. */
  defaults: () => UsageLimits
  /** Milliseconds of a clock that nobody sets. */
  monotonic: () => number
}

/** The rate limits of accounts and keys (docs/behaviour.md#rate-limits). */
export class RateLimit {
  readonly #options: Options
  readonly #limitsOf: (caller: Caller) => ApplyingLimits

  constructor(options: Options) {
    this.#options = options
    this.#limitsOf = createApplyingLimits(options.defaults)
  }

  /**
   * Lets a call in that lasts no longer than `timeoutMs`. Throws `rate_limit_exceeded`; then nothing is
   * counted.
   */
  async admit(caller: Caller, demand: Demand, timeoutMs: number): Promise<Admission> {
    const { windows, calls } = this.#limitsOf(caller)
    const needs = windows.map((of): Need => ({ of, points: pointsOf(of, demand) }))
    const taking = this.#options.counts.take({ windows: needs, calls, timeoutMs })
    const taken = taking instanceof Promise ? await taking : taking
    if (taken.end === undefined) throw this.#refusal(needs, calls, taken)
    return this.#admission(this.#seen(needs, taken), calls, taken)
  }

  /** The limits of a caller as they stand. */
  look(caller: Caller): readonly LimitState[] | Promise<readonly LimitState[]> {
    const { windows, calls } = this.#limitsOf(caller)
    const needs = windows.map((of): Need => ({ of, points: 0 }))
    const statesOf = (counted: Counted) =>
      this.#states(this.#seen(needs, counted), calls, counted, counted.running())
    const counted = this.#options.counts.look({ windows: needs, calls })
    return counted instanceof Promise ? counted.then(statesOf) : statesOf(counted)
  }

  /** How many windows and owners of running calls are in memory. */
  size(): number {
    return this.#options.counts.size()
  }

  #refusal(needs: readonly Need[], calls: ApplyingLimits['calls'], counted: Counted) {
    const { processes } = counted
    const seen = this.#seen(needs, counted)
    const states = this.#states(seen, calls, counted, counted.running())
    const refused: Refused[] = []
    seen.forEach((one, index) => {
      if (hasRoom(one, one.used, processes)) return
      refused.push({ state: states[index]!, needed: one.points })
    })
    for (const state of states.slice(seen.length)) {
      if (state.remaining === 0) refused.push({ state, needed: 1 })
    }
    return refusalOf(refused, states)
  }

  #seen(needs: readonly Need[], { windows }: Counted): Seen[] {
    const now = this.#options.monotonic()
    return needs.map(({ of, points }, index) => {
      const { used, leftMs } = windows[index]!
      return { of, points, used, endsAt: now + leftMs }
    })
  }

  #admission(seen: readonly Seen[], calls: ApplyingLimits['calls'], taken: Taken): Admission {
    let hasEnded = false
    return {
      limits: () => this.#states(seen, calls, taken, taken.running()),
      end: (used) => {
        if (hasEnded) return
        hasEnded = true
        taken.end?.(used && this.#settle(seen, used))
      },
    }
  }

  /** Puts what a call really used in place of what it took; gives the differences. */
  #settle(seen: readonly Seen[], used: Used): number[] {
    const now = this.#options.monotonic()
    return seen.map((one) => {
      const more = usedOf(one.of.kind, used) - one.points
      // The end of a window has given back what was taken of it.
      if (more > 0 || one.endsAt > now) one.used += more
      return more
    })
  }

  #states(
    seen: readonly Seen[],
    calls: ApplyingLimits['calls'],
    { processes }: Counted,
    running: readonly number[],
  ): LimitState[] {
    const now = this.#options.monotonic()
    const states = seen.map(({ of: { kind, owner, limit }, used, endsAt }): LimitState => {
      const remaining = Math.max(0, shareOf(limit, processes) - Math.max(0, used))
      const resetSeconds = Math.ceil(Math.max(0, endsAt - now) / 1000)
      return { kind, owner, limit, remaining, window: { seconds: windowSeconds, resetSeconds } }
    })
    calls.forEach(({ owner, limit }, index) => {
      const remaining = Math.max(0, shareOf(limit, processes) - running[index]!)
      states.push({ kind: 'concurrency', owner, limit, remaining })
    })
    return states
  }
}

/** What a call takes of a window when it is let in. */
function pointsOf({ kind, limit }: WindowLimit, demand: Demand): number {
  if (kind === 'requests') return 1
  if (kind === 'images') return demand.images
  const { certain, assumed } = demand.tokens()
  // What nobody asked for keeps no call out for ever.
  return Math.max(certain, Math.min(certain + assumed, limit))
}

function usedOf(kind: WindowKind, { inputTokens, outputTokens, images }: Used): number {
  if (kind === 'requests') return 1
  return kind === 'images' ? images : inputTokens + outputTokens
}

const statusesOfMalformed = new Set([400, 413, 415])
const nothing: Demand = { images: 0, tokens: () => ({ certain: 0, assumed: 0 }) }

/**
 * Counts malformed calls as requests, so that a key cannot send them without end; those that were let in are
 * counted already.
 */
export function refusedCounter(admit: Admit): CountRefused {
  return async (thrown, caller) => {
    if (caller === undefined || !(thrown instanceof GatewayError)) return thrown
    const { status, progress } = thrown
    if (!statusesOfMalformed.has(status) || progress.limits !== undefined) return thrown
    try {
      const admission = await admit(caller, nothing, 1000)
      admission.end(noUsage)
      return thrown
    } catch (refusal) {
      return refusal
    }
  }
}
