import { LRUCache } from 'lru-cache'
import { GatewayError } from '../core/error.ts'

type Options = {
  /** How many are free before they are slowed. */
  free: number
  /** For how many keys attempts are remembered; the least recently used are forgotten. */
  entriesMax: number
  /** Never jumps, so that a clock that is set opens no lock and keeps none shut. */
  monotonic: () => number
}

type Tried = { attempts: number; lastAtMs: number }

export type Attempts = {
  /** Throws `rate_limit_exceeded` while the next attempt of this key has to wait. */
  assertMay(key: string): void
  /** Counts an attempt before its outcome is known, so that many at once are seen too. */
  count(key: string): void
  /** Takes one attempt back, which succeeded. */
  discount(key: string): void
  /** Forgets a key. */
  forget(key: string): void
}

const waitMaxMs = 60_000
const forgottenAfterMs = 15 * 60_000

/**
 * Slows attempts down: behind the free ones each waits twice as long as the one before, up to a
 * minute. Nobody is locked out for longer than that by what others try.
 */
export function createAttempts({ free, entriesMax, monotonic }: Options): Attempts {
  const known = new LRUCache<string, Tried>({ max: entriesMax })
  const triedOf = (key: string): Tried | undefined => {
    const tried = known.get(key)
    if (tried === undefined || monotonic() - tried.lastAtMs < forgottenAfterMs) return tried
    known.delete(key)
    return undefined
  }
  return {
    assertMay: (key) => {
      const tried = triedOf(key)
      if (tried === undefined || tried.attempts < free) return
      const waitMs = Math.min(waitMaxMs, 1000 * 2 ** Math.min(tried.attempts - free, 10))
      const leftMs = tried.lastAtMs + waitMs - monotonic()
      if (leftMs > 0) throw tooMany(Math.ceil(leftMs / 1000))
    },
    count: (key) => {
      const attempts = (triedOf(key)?.attempts ?? 0) + 1
      known.set(key, { attempts, lastAtMs: monotonic() })
    },
    discount: (key) => {
      const tried = known.get(key)
      if (tried !== undefined) known.set(key, { ...tried, attempts: tried.attempts - 1 })
    },
    forget: (key) => void known.delete(key),
  }
}

function tooMany(seconds: number): GatewayError {
  const text = `There were too many attempts. Try again in ${seconds} s.`
  return new GatewayError('rate_limit_exceeded', text, { retryAfterSeconds: seconds })
}
