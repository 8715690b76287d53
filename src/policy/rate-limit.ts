import type { Caller, UsageLimits } from '../core/caller.ts'
import type { Admission, Demand, LimitState, Used, WindowKind } from '../core/limits.ts'
import {
  createApplyingLimits,
  type ApplyingLimits,
  type CallLimit,
  type WindowLimit,
} from './applying-limits.ts'
import { createCallsAtOnce } from './calls-at-once.ts'
import { refusalOf, type Refused } from './rate-limit-refusal.ts'
import { createWindows } from './windows.ts'

const windowSeconds = 60

/** What a call needs of a window. */
type Need = { of: WindowLimit; points: number }
/** What it has taken, and what it left of the window that ends at `endsAt`. */
type Taken = Need & { remaining: number; endsAt: number }

type Options = {
  /** What an account may use where it has no limits of its own. */
  defaults: () => UsageLimits
  /** Milliseconds of a clock that nobody sets. */
  monotonic: () => number
  /** Told when what a call really used could not be counted. */
  onFault: (error: unknown) => void
}

/** The rate limits of accounts and keys (docs/behaviour.md#rate-limits). */
export class RateLimit {
  readonly #options: Options
  readonly #windows
  readonly #calls = createCallsAtOnce()
  readonly #limitsOf: (caller: Caller) => ApplyingLimits

  constructor(options: Options) {
    this.#options = options
    this.#windows = createWindows(windowSeconds, options.monotonic)
    this.#limitsOf = createApplyingLimits(options.defaults, this.#windows)
  }

  /** Lets a call in. Throws `rate_limit_exceeded`; then nothing is counted. */
  async admit(caller: Caller, demand: Demand): Promise<Admission> {
    const limits = this.#limitsOf(caller)
    const needs = limits.windows.map((of) => ({ of, points: pointsOf(of, demand) }))
    // Counting begins in the turn of the event loop in which all limits are looked at: nobody comes
    // between, and a call that one of them refuses is counted by none.
    const refused = this.#refusing(needs, limits.calls)
    if (refused.length > 0) throw refusalOf(refused, this.look(caller))
    for (const { ownerId } of limits.calls) this.#calls.begin(ownerId)
    const taken = await Promise.all(needs.map((need) => this.#take(need)))
    return this.#admission(taken, limits.calls)
  }

  /** The limits of a caller as they stand. */
  look(caller: Caller): readonly LimitState[] {
    const { windows, calls } = this.#limitsOf(caller)
    return this.#states(
      windows.map((of) => this.#untaken(of)),
      calls,
    )
  }

  /** How many windows and owners of running calls are in memory. */
  size(): number {
    return this.#windows.size() + this.#calls.size()
  }

  #refusing(needs: readonly Need[], calls: readonly CallLimit[]): Refused[] {
    const refused: Refused[] = []
    for (const { of, points } of needs) {
      const { used = 0 } = this.#windows.look(of.key) ?? {}
      if (points === 0 || used + points <= of.limit) continue
      refused.push({ state: this.#state(this.#untaken(of)), needed: points })
    }
    for (const one of calls) {
      if (this.#calls.of(one.ownerId) < one.limit) continue
      refused.push({ state: this.#callState(one), needed: 1 })
    }
    return refused
  }

  async #take({ of, points }: Need): Promise<Taken> {
    if (points === 0) return this.#untaken(of)
    const now = this.#options.monotonic()
    const { remainingPoints, msBeforeNext } = await of.limiter.consume(of.key, points)
    return { of, points, remaining: remainingPoints, endsAt: now + msBeforeNext }
  }

  #untaken(of: WindowLimit): Taken {
    const { used = 0, endsAt = 0 } = this.#windows.look(of.key) ?? {}
    return { of, points: 0, remaining: Math.max(0, of.limit - used), endsAt }
  }

  #admission(taken: readonly Taken[], calls: readonly CallLimit[]): Admission {
    let hasEnded = false
    return {
      limits: () => this.#states(taken, calls),
      end: (used) => {
        if (hasEnded) return
        hasEnded = true
        for (const { ownerId } of calls) this.#calls.end(ownerId)
        if (used !== undefined) for (const one of taken) this.#settle(one, used)
      },
    }
  }

  /** Counts what a call really used in place of what it took. */
  #settle(taken: Taken, used: Used): void {
    const { of, points, remaining, endsAt } = taken
    const more = usedOf(of.kind, used) - points
    // The end of a window has given back what was taken of it.
    if (more === 0 || (more < 0 && endsAt <= this.#options.monotonic())) return
    taken.remaining = Math.min(of.limit, Math.max(0, remaining - more))
    const { limiter, key } = of
    const counted = more > 0 ? limiter.penalty(key, more) : limiter.reward(key, -more)
    counted.catch(this.#options.onFault)
  }

  #states(taken: readonly Taken[], calls: readonly CallLimit[]): LimitState[] {
    const states = taken.map((one) => this.#state(one))
    for (const one of calls) states.push(this.#callState(one))
    return states
  }

  #state({ of: { kind, owner, limit }, remaining, endsAt }: Taken): LimitState {
    const leftMs = Math.max(0, endsAt - this.#options.monotonic())
    const window = { seconds: windowSeconds, resetSeconds: Math.ceil(leftMs / 1000) }
    return { kind, owner, limit, remaining, window }
  }

  #callState({ owner, ownerId, limit }: CallLimit): LimitState {
    const remaining = Math.max(0, limit - this.#calls.of(ownerId))
    return { kind: 'concurrency', owner, limit, remaining }
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
