import { LRUCache } from 'lru-cache'
import { GatewayError } from '../core/error.ts'

/** An attempt as it concerns one key: of so many, `free` are not slowed; it counts as `points`. */
export type AttemptNeed = readonly [key: string, free: number, points: 0 | 1]
/** What becomes of what was counted of a key; `null` forgets it. */
export type AttemptChange = readonly [key: string, more: 1 | -1 | null]

/**
 * Slows attempts down: behind the free ones each waits twice as long as the one before, up to a
 * minute. Nobody is locked out for longer than that by what others try.
 */
export type Attempts = {
  /**
   * Counts an attempt for all of its keys, before its outcome is known, so that many at once are seen
   * too. Gives 0, or for how many milliseconds one of the keys still has to wait: then nothing is counted.
   */
  begin(needs: readonly AttemptNeed[]): Promise<number>
  settle(changes: readonly AttemptChange[]): void
}

type Options = {
  /** For how many keys attempts are remembered; the least recently used are forgotten. */
  entriesMax?: number
  /** Never jumps, so that a clock that is set opens no lock and keeps none shut. */
  monotonic: () => number
}

type Tried = { attempts: number; lastAtMs: number }

/** The longest wait, and what the first doubles to it. */
export const waitMaxMs = 60_000
export const firstWaitMs = 1000
/** Where nothing was tried for so long, all is free again. */
export const forgottenAfterMs = 15 * 60_000

/** E-mails and addresses, at some hundred bytes each; the least recently used are dropped. */
const entriesStandardMax = 10_000

/** Counts attempts in the memory of this process. */
export function createAttempts({ entriesMax = entriesStandardMax, monotonic }: Options): Attempts {
  const known = new LRUCache<string, Tried>({ max: entriesMax })
  const triedOf = (key: string): Tried | undefined => {
    const tried = known.get(key)
    if (tried === undefined || monotonic() - tried.lastAtMs < forgottenAfterMs) return tried
    known.delete(key)
    return undefined
  }
  const waitOf = ([key, free]: AttemptNeed): number => {
    const tried = triedOf(key)
    if (tried === undefined || tried.attempts < free) return 0
    const waitMs = Math.min(waitMaxMs, firstWaitMs * 2 ** Math.min(tried.attempts - free, 10))
    return Math.max(0, tried.lastAtMs + waitMs - monotonic())
  }
  const count = (key: string): void => {
    known.set(key, { attempts: (triedOf(key)?.attempts ?? 0) + 1, lastAtMs: monotonic() })
  }
  return {
    begin: async (needs) => {
      const leftMs = Math.max(0, ...needs.map(waitOf))
      if (leftMs === 0) for (const [key, , points] of needs) if (points > 0) count(key)
      return leftMs
    },
    settle: (changes) => {
      for (const [key, more] of changes) {
        const tried = known.get(key)
        if (more === null) known.delete(key)
        else if (more > 0) count(key)
        else if (tried !== undefined) known.set(key, { ...tried, attempts: tried.attempts - 1 })
      }
    },
  }
}

/** Begins an attempt. Throws `rate_limit_exceeded` while one of the keys has to wait. */
export async function beginAttempt(
  attempts: Attempts,
  needs: readonly AttemptNeed[],
): Promise<void> {
  const leftMs = await attempts.begin(needs)
  if (leftMs === 0) return
  const retryAfterSeconds = Math.ceil(leftMs / 1000)
  const text = `There were too many attempts. Try again in ${retryAfterSeconds} s.`
  throw new GatewayError('rate_limit_exceeded', text, { retryAfterSeconds })
}
