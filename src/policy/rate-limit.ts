import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Caller, RequestLimit } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'

const windowSeconds = 60

/** Counts each account's requests in fixed windows. Throws `rate_limit_exceeded`. */
export function createRateLimit(
  requestsPerMinute: number,
): (caller: Caller) => Promise<RequestLimit> {
  const limiter = new RateLimiterMemory({
    points: requestsPerMinute,
    duration: windowSeconds,
    // With a prefix, each call would build and hash a new string.
    keyPrefix: '',
  })
  const admitted = (result: RateLimiterRes) => toLimit(result, requestsPerMinute)
  const refused = (refusal: unknown): never => {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    const limit = toLimit(refusal, requestsPerMinute)
    throw new GatewayError(
      'rate_limit_exceeded',
      `This account may make ${requestsPerMinute} requests a minute. ` +
        `Try again in ${limit.resetSeconds} s.`,
      { retryAfterSeconds: limit.resetSeconds, progress: { limit } },
    )
  }
  return ({ accountId }) => limiter.consume(accountId).then(admitted, refused)
}

function toLimit(result: RateLimiterRes, limit: number): RequestLimit {
  return {
    limit,
    remaining: Math.max(0, result.remainingPoints),
    windowSeconds,
    resetSeconds: Math.ceil(result.msBeforeNext / 1000),
  }
}
