import { LRUCache } from 'lru-cache'

/** The points that a call takes of a window; 0 only reads the window. */
type WindowNeed = {
  readonly of: { readonly key: string; readonly limit: number }
  readonly points: number
}
type CallsNeed = { readonly ownerId: string; readonly limit: number }

export type LimitsRead = {
  readonly windows: readonly WindowNeed[]
  /** The length of each window, which begins with the first call. */
  readonly windowMs: number
  readonly calls: readonly CallsNeed[]
}
/** The points that a call takes of all its limits. */
export type LimitsTaken = LimitsRead & {
  /** The maximum duration of the call, after which its lease expires. */
  readonly timeoutMs: number
}

/** The state of limits, in the order of the request. */
export type Counted = {
  /** The used points and the remaining time of the open window; both are 0 without an open window. */
  readonly windows: readonly { readonly used: number; readonly leftMs: number }[]
  /** Running calls of each owner. */
  readonly running: () => readonly number[]
  /** The number of processes that share each limit; 1 if all processes count together. */
  readonly processes: number
}

/** The state of limits after a call was counted, or was refused. */
export type Taken = Counted & {
  /**
   * Ends the call. `more` is the use of each window beyond the points taken. A negative number is given back
   * to the same window only. Undefined if a limit refuses the call; then nothing is counted.
   */
  readonly end: ((more?: readonly number[]) => void) | undefined
}

/** A key whose attempts are counted. The first `free` attempts are not slowed down. */
export type AttemptNeed = readonly [key: string, free: number]
/** Takes one attempt of a key back, or forgets all attempts of the key. */
export type AttemptChange = readonly [key: string, change: 'take_back' | 'forget']

/** Counts windows, concurrent calls and attempts: in memory (below), or in Redis (counts-in- redis.ts). */
export type Counts = {
  /** Takes all that a call needs, or nothing. */
  take(needs: LimitsTaken): Taken | Promise<Taken>
  /** Reads the state of limits, and takes nothing. */
  look(needs: LimitsRead): Counted | Promise<Counted>
  /**
   * Counts an attempt for all its keys before its outcome is known, so that parallel attempts are counted
   * too. Returns 0, or the milliseconds that one of the keys still has to wait; an attempt that has to wait
   * is not counted.
   */
  attempt(needs: readonly AttemptNeed[]): number | Promise<number>
  settleAttempt(changes: readonly AttemptChange[]): void
  /** Reports to other processes that this process ends. */
  close(): Promise<void>
}

/** After the free attempts, each wait is twice as long as the previous one, up to `waitMaxMs`. */
export const firstWaitMs = 1000
/** Attempts of other people cannot lock out a key for longer than this. */
export const waitMaxMs = 60_000
/** The attempts of a key are forgotten this long after the last attempt. */
export const attemptsKeptMs = 15 * 60_000
/** The most keys with attempts, at some hundred bytes each; the least recently used are dropped. */
const triedKeysMax = 10_000

/** Counts in the memory of this process, which counts its share of each limit if several processes run. */
export function createCountsInMemory(monotonic: () => number, processes: () => number = () => 1) {
  const open = createWindows(monotonic)
  const running = new Map<string, number>()

  const runningOf = (ownerId: string): number => running.get(ownerId) ?? 0
  const addCalls = (calls: readonly CallsNeed[], more: 1 | -1): void => {
    for (const { ownerId } of calls) {
      const count = runningOf(ownerId) + more
      if (count > 0) running.set(ownerId, count)
      else running.delete(ownerId)
    }
  }
  const hasRoomFor = ({ windows, windowMs, calls }: LimitsRead, among: number): boolean =>
    windows.every((need) => hasRoom(need, open.find(need.of.key, windowMs)?.used ?? 0, among)) &&
    calls.every(({ ownerId, limit }) => runningOf(ownerId) < shareOf(limit, among))
  const look = ({ windows, windowMs, calls }: LimitsRead): Counted => ({
    windows: windows.map(({ of: { key } }) => {
      const window = open.find(key, windowMs)
      if (window === undefined) return { used: 0, leftMs: 0 }
      return { used: window.used, leftMs: window.endsAt - monotonic() }
    }),
    running: () => calls.map(({ ownerId }) => runningOf(ownerId)),
    processes: processes(),
  })
  const take = (needs: LimitsTaken): Taken => {
    if (!hasRoomFor(needs, processes())) return { ...look(needs), end: undefined }
    const { windows, windowMs, calls } = needs
    addCalls(calls, 1)
    const taken = windows.map(({ of: { key }, points }) =>
      points > 0 ? open.add(key, windowMs, points) : undefined,
    )
    return {
      ...look(needs),
      end: (more) => {
        addCalls(calls, -1)
        more?.forEach((points, index) => {
          const window = taken[index]
          if (points > 0) open.add(windows[index]!.of.key, windowMs, points)
          else if (window !== undefined) window.used = Math.max(0, window.used + points)
        })
      },
    }
  }
  return {
    take,
    look,
    ...createAttempts(monotonic),
    /** The number of windows, and of owners of running calls. */
    size: () => open.size() + running.size,
    close: () => Promise.resolve(),
  } satisfies Counts & { size: () => number }
}

/** The part of a limit that one of several processes counts; at least 1 of a limit above 0. */
export function shareOf(limit: number, processes: number): number {
  return limit === 0 ? 0 : Math.max(1, Math.floor(limit / processes))
}

/** Whether the points fit; a call above the share of this process may use an empty window. */
export function hasRoom(
  { of: { limit }, points }: WindowNeed,
  used: number,
  processes: number,
): boolean {
  if (points === 0 || used + points <= shareOf(limit, processes)) return true
  return used === 0 && points <= limit
}

type Window = { used: number; endsAt: number }

/** Open windows; ended windows are dropped when a new one begins. */
function createWindows(monotonic: () => number) {
  // One map for each window length: its windows end in the order in which they began.
  const byLength = new Map<number, Map<string, Window>>()

  const find = (key: string, windowMs: number): Window | undefined => {
    const window = byLength.get(windowMs)?.get(key)
    return window !== undefined && window.endsAt > monotonic() ? window : undefined
  }
  const begin = (key: string, windowMs: number): Window => {
    const now = monotonic()
    const windows = byLength.get(windowMs) ?? new Map<string, Window>()
    byLength.set(windowMs, windows)
    for (const [ended, { endsAt }] of windows) {
      if (endsAt > now) break
      windows.delete(ended)
    }
    // Deleted first, since a key that is set again would keep its old place in the order.
    windows.delete(key)
    const window = { used: 0, endsAt: now + windowMs }
    windows.set(key, window)
    return window
  }
  return {
    find,
    /** Adds to the open window, or to a new one. */
    add: (key: string, windowMs: number, points: number): Window => {
      const window = find(key, windowMs) ?? begin(key, windowMs)
      window.used += points
      return window
    },
    size: () => byLength.values().reduce((sum, { size }) => sum + size, 0),
  }
}

type Tried = { attempts: number; lastAtMs: number }

function createAttempts(monotonic: () => number): Pick<Counts, 'attempt' | 'settleAttempt'> {
  const known = new LRUCache<string, Tried>({ max: triedKeysMax })
  const triedOf = (key: string): Tried | undefined => {
    const tried = known.get(key)
    if (tried === undefined || monotonic() - tried.lastAtMs < attemptsKeptMs) return tried
    known.delete(key)
    return undefined
  }
  const waitOf = ([key, free]: AttemptNeed): number => {
    const { attempts, lastAtMs } = triedOf(key) ?? { attempts: 0, lastAtMs: 0 }
    if (attempts < free) return 0
    const waitMs = Math.min(waitMaxMs, firstWaitMs * 2 ** Math.min(attempts - free, 10))
    return Math.max(0, lastAtMs + waitMs - monotonic())
  }
  return {
    attempt: (needs) => {
      const leftMs = Math.max(...needs.map(waitOf))
      if (leftMs > 0) return leftMs
      for (const [key] of needs) {
        known.set(key, { attempts: (triedOf(key)?.attempts ?? 0) + 1, lastAtMs: monotonic() })
      }
      return 0
    },
    settleAttempt: (changes) => {
      for (const [key, change] of changes) {
        const tried = known.get(key)
        if (change === 'forget') known.delete(key)
        else if (tried !== undefined) known.set(key, { ...tried, attempts: tried.attempts - 1 })
      }
    },
  }
}
