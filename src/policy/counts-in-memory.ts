import type { RateLimiterRes } from 'rate-limiter-flexible'
import { createCallsAtOnce } from './calls-at-once.ts'
import {
  hasRoom,
  shareOf,
  type CallsNeed,
  type Counted,
  type LimitCounts,
  type Needs,
  type Taken,
  type WindowNeed,
} from './limit-counts.ts'
import { createWindows, WindowLimiter, type Windows } from './windows.ts'

type Options = {
  windowSeconds: number
  /** Milliseconds of a clock that nobody sets. */
  monotonic: () => number
  /** Told when what a call really used could not be counted. */
  onFault: (error: unknown) => void
  /** Among how many processes each limit is divided. */
  processes?: () => number
}

export type CountsInMemory = Omit<LimitCounts, 'look'> & {
  look(needs: Pick<Needs, 'windows' | 'calls'>): Counted
  /** Counts what was used beyond what was taken of a window that ends at `endsAt`. */
  settle(key: string, endsAt: number, more: number): void
  /** Ends one call of each owner. */
  endCalls(ownerIds: readonly string[]): void
}

/** Counts in the memory of this process. */
export function createCountsInMemory(options: Options): CountsInMemory {
  const { windowSeconds, monotonic, onFault, processes = () => 1 } = options
  const windows = createWindows(windowSeconds, monotonic)
  const limiterOf = createLimiters(windows)
  const atOnce = createCallsAtOnce()

  const keepsOut = ({ windows: needed, calls }: Needs, among: number): boolean =>
    needed.some((need) => !hasRoom(need, windows.look(need.of.key)?.used ?? 0, among)) ||
    calls.some(({ ownerId, limit }) => atOnce.of(ownerId) >= shareOf(limit, among))
  const untaken = ({ of: { key } }: WindowNeed) => {
    const { used = 0, endsAt = 0 } = windows.look(key) ?? {}
    return { used, leftMs: Math.max(0, endsAt - monotonic()) }
  }
  const consume = (need: WindowNeed) => {
    const { of, points } = need
    if (points === 0) return Promise.resolve(untaken(need))
    return limiterOf(of.limit).consume(of.key, points).then(seenIn)
  }
  const runningOf = (calls: readonly CallsNeed[]) =>
    calls.length === 0 ? noCalls : () => calls.map(({ ownerId }) => atOnce.of(ownerId))
  const look: CountsInMemory['look'] = ({ windows: needed, calls }) => ({
    windows: needed.map(untaken),
    running: runningOf(calls),
    processes: processes(),
  })
  const settle: CountsInMemory['settle'] = (key, endsAt, more) => {
    // The end of a window has given back what was taken of it.
    if (more === 0 || (more < 0 && endsAt <= monotonic())) return
    const limiter = limiterOf(0)
    const counted = more > 0 ? limiter.penalty(key, more) : limiter.reward(key, -more)
    counted.catch(onFault)
  }
  const take = async (needs: Needs, among: number): Promise<Taken> => {
    // All is counted in the turn of the event loop in which all limits were looked at: nobody comes
    // between, and a call that one of them refuses is counted by none.
    for (const { ownerId } of needs.calls) atOnce.begin(ownerId)
    const now = monotonic()
    const taken = await Promise.all(needs.windows.map(consume))
    return {
      windows: taken,
      running: runningOf(needs.calls),
      processes: among,
      end: (more) => {
        for (const { ownerId } of needs.calls) atOnce.end(ownerId)
        more?.forEach((one, index) => {
          if (one !== 0) settle(needs.windows[index]!.of.key, now + taken[index]!.leftMs, one)
        })
      },
    }
  }
  return {
    take: (needs) => {
      const among = processes()
      return keepsOut(needs, among) ? { ...look(needs), end: undefined } : take(needs, among)
    },
    look,
    settle,
    endCalls: (ownerIds) => {
      for (const ownerId of ownerIds) atOnce.end(ownerId)
    },
    size: () => windows.size() + atOnce.size(),
  }
}

const noCalls = (): readonly number[] => []

const seenIn = ({ consumedPoints, msBeforeNext }: RateLimiterRes) => ({
  used: consumedPoints,
  leftMs: msBeforeNext,
})

/** Limiters of this many different limits are kept; others are made again when they are needed. */
const limitersMax = 1000

function createLimiters(windows: Windows): (points: number) => WindowLimiter {
  const limiters = new Map<number, WindowLimiter>()
  return (points) => {
    const known = limiters.get(points)
    if (known !== undefined) return known
    if (limiters.size === limitersMax) limiters.clear()
    const limiter = new WindowLimiter(windows, points)
    limiters.set(points, limiter)
    return limiter
  }
}
