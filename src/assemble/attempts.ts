import type { Config } from '../config.ts'
import type { Redis } from '../peers/redis.ts'
import { createAttempts, type Attempts } from '../policy/attempts.ts'
import { countAttemptsOnRedis, createFarAttempts } from '../policy/far-attempts.ts'

type Options = {
  config: Pick<Config, 'limits'>
  redis: Redis | undefined
  monotonic: () => number
}

/** Where attempts to come in are counted: in Redis, else in memory. */
export function assembleAttempts({ config, redis, monotonic }: Options): Attempts {
  const { limits } = config
  const near = createAttempts({ entriesMax: limits.signInEntriesMax, monotonic })
  if (redis === undefined) return near
  const exchange = countAttemptsOnRedis(redis)
  return createFarAttempts({ exchange, timeoutMs: () => limits.limitsTimeoutMs, near })
}
