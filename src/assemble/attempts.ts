import type { Config } from '../config.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import type { Redis } from '../peers/redis.ts'
import { createAttempts, type Attempts } from '../policy/attempts.ts'
import {
  askPrimaryForAttempts,
  countAttemptsOnRedis,
  createFarAttempts,
} from '../policy/far-attempts.ts'

type Options = {
  config: Pick<Config, 'limits'>
  redis: Redis | undefined
  /** Where this process is a worker. */
  primary: PrimaryLine | undefined
  monotonic: () => number
}

/** Where attempts to come in are counted: in Redis, else by the primary, else in memory. */
export function assembleAttempts({ config, redis, primary, monotonic }: Options): Attempts {
  const { limits } = config
  const near = createAttempts({ entriesMax: limits.signInEntriesMax, monotonic })
  if (redis !== undefined) {
    const exchange = countAttemptsOnRedis(redis)
    return createFarAttempts({ exchange, timeoutMs: () => limits.limitsTimeoutMs, near })
  }
  if (primary === undefined) return near
  const exchange = askPrimaryForAttempts(primary)
  return createFarAttempts({ exchange, timeoutMs: () => limits.primaryAnswerTimeoutMs, near })
}
