import {
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterStoreAbstract,
} from 'rate-limiter-flexible'

/** The base of all stores of the package: its types export it, its code does not. */
const StoreLimiter = Object.getPrototypeOf(RateLimiterRedis) as typeof RateLimiterStoreAbstract

type Window = { used: number; endsAt: number }

/**
 * Windows of one length, in the memory of this process, for as long as they are open. They follow a
 * clock that nobody sets; the package's own memory follows the system's, which may jump by hours.
 */
export type Windows = ReturnType<typeof createWindows>

export function createWindows(windowSeconds: number, monotonic: () => number) {
  const windows = new Map<string, Window>()

  const open = (key: string, now: number): Window | undefined => {
    const window = windows.get(key)
    return window !== undefined && window.endsAt > now ? window : undefined
  }
  const begin = (key: string, now: number): Window => {
    // They all last as long, so those that have ended are the first.
    for (const [ended, { endsAt }] of windows) {
      if (endsAt > now) break
      windows.delete(ended)
    }
    const begun = { used: 0, endsAt: now + windowSeconds * 1000 }
    windows.set(key, begun)
    return begun
  }
  return {
    windowSeconds,
    size: () => windows.size,
    /** What is used of the open window, and when it ends; undefined where none is open. */
    look: (key: string): Readonly<Window> | undefined => open(key, monotonic()),
    /** Adds to the open window or to a new one. What is given back is never more than was used. */
    add: (key: string, points: number): { used: number; leftMs: number } => {
      const now = monotonic()
      const window = open(key, now) ?? (points < 0 ? undefined : begin(key, now))
      if (window === undefined) return { used: 0, leftMs: 0 }
      window.used = Math.max(0, window.used + points)
      return { used: window.used, leftMs: window.endsAt - now }
    },
  }
}

type Added = ReturnType<Windows['add']>

/** Counts in our windows; the package's classes for Redis and others can take its place. */
export class WindowLimiter extends StoreLimiter {
  readonly #windows: Windows

  constructor(windows: Windows, points: number) {
    super({ storeClient: windows, points, duration: windows.windowSeconds, keyPrefix: '' })
    this.#windows = windows
  }

  /** Called by the package, as are the following. */
  _upsert(key: string, points: number): Promise<Added> {
    return Promise.resolve(this.#windows.add(key, points))
  }

  _getRateLimiterRes(_key: string, points: number, { used, leftMs }: Added): RateLimiterRes {
    return new RateLimiterRes(Math.max(0, this.points - used), leftMs, used, used === points)
  }
}
