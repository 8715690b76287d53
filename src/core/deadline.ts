import { ProviderFailure } from './failure.ts'

/** One time limit for a whole call. */
export type Deadline = {
  /** Aborts with a ProviderFailure: `timeout` when time is up, or whatever else ended the call. */
  signal: AbortSignal
  endsAt: number
  /** Ends what is still under way for the call. */
  abort: (reason: ProviderFailure) => void
  clear: () => void
}

/** Ends a call after `timeoutMs`. */
export function startDeadline(
  ending: AbortController,
  timeoutMs: number,
  startedAt: number,
): Deadline {
  const timer = setTimeout(() => {
    ending.abort(new ProviderFailure('timeout', `No answer within ${timeoutMs} ms.`))
  }, timeoutMs)
  return {
    signal: ending.signal,
    endsAt: startedAt + timeoutMs,
    abort: (reason) => ending.abort(reason),
    clear: () => clearTimeout(timer),
  }
}

/** Why a call ends whose caller has left. */
export function callerLeft(): ProviderFailure {
  return new ProviderFailure('cancelled', 'The caller left.')
}
