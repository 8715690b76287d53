import type { Caller, RequestLimit } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'

const windowSeconds = 60

/** The requests of an account in the window that is open. */
type Window = { requests: number; endsAt: number }

/**
 * Counts each account's requests in fixed windows. Throws `rate_limit_exceeded`. The windows of
 * rate-limiter-flexible follow the system clock: when it is set back they tell a wait of hours.
 */
export function createRateLimit(
  limits: () => { requestsPerMinute: number },
  monotonic: () => number,
): (caller: Caller) => RequestLimit {
  // Accounts are made by the operator, not by callers.
  const windows = new Map<string, Window>()

  const windowOf = (accountId: string, now: number): Window => {
    const open = windows.get(accountId)
    if (open !== undefined && open.endsAt > now) return open
    const begun = { requests: 0, endsAt: now + windowSeconds * 1000 }
    windows.set(accountId, begun)
    return begun
  }
  return ({ accountId }) => {
    const { requestsPerMinute } = limits()
    const now = monotonic()
    const window = windowOf(accountId, now)
    window.requests++
    const limit = {
      limit: requestsPerMinute,
      remaining: Math.max(0, requestsPerMinute - window.requests),
      windowSeconds,
      resetSeconds: Math.ceil((window.endsAt - now) / 1000),
    }
    if (window.requests <= requestsPerMinute) return limit
    throw new GatewayError(
      'rate_limit_exceeded',
      `This account may make ${requestsPerMinute} requests a minute. ` +
        `Try again in ${limit.resetSeconds} s.`,
      { retryAfterSeconds: limit.resetSeconds, progress: { limit } },
    )
  }
}
