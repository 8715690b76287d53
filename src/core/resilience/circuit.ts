type Options = {
  /** Consecutive failures that open the circuit. */
  failuresMax: () => number
  /** How long the circuit stays open, at first; each further opening lasts twice as long. */
  pauseMs: number
  pauseMaxMs: number
  monotonic: () => number
}

/** The state of a circuit; `leftMs` is how long an open circuit stays open. */
export type CircuitView = { state: 'closed' | 'open' | 'half_open'; leftMs: number }

type Failure = { opens?: boolean; retryAfterMs?: number }

export type Circuit = ReturnType<typeof createCircuit>

/** A circuit breaker: after failures it blocks uses for a while, then lets single uses through as tests. */
export function createCircuit({ failuresMax, pauseMs, pauseMaxMs, monotonic }: Options) {
  let failures = 0
  let openings = 0
  /** The time until which the circuit is open; 0 while it is closed. */
  let openUntil = 0
  let isTested = false
  return {
    view: (): CircuitView => {
      if (openUntil === 0) return { state: 'closed', leftMs: 0 }
      const leftMs = openUntil - monotonic()
      return isTested || leftMs <= 0 ? { state: 'half_open', leftMs: 0 } : { state: 'open', leftMs }
    },
    /** Whether uses are blocked: the circuit is open, or a test is running. */
    isOpen: () => openUntil > 0 && (isTested || monotonic() < openUntil),
    /** Must be called before each use, which may be the test. */
    began: () => {
      if (openUntil > 0 && monotonic() >= openUntil) isTested = true
    },
    succeeded: () => {
      failures = openings = openUntil = 0
      isTested = false
    },
    /** The use was cancelled, so its outcome does not count. */
    cancelled: () => {
      isTested = false
    },
    /** `opens`: opens the circuit regardless of the failure count; `retryAfterMs`: the minimum pause. */
    failed: ({ opens = false, retryAfterMs = 0 }: Failure = {}) => {
      failures++
      isTested = false
      if (!opens && openUntil === 0 && failures < failuresMax()) return
      const openMs = Math.max(pauseMs * 2 ** openings, retryAfterMs)
      openings++
      openUntil = monotonic() + Math.min(openMs, pauseMaxMs)
    },
  }
}
