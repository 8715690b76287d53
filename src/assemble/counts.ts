import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Redis } from '../peers/redis.ts'
import { createCountsInMemory } from '../policy/counts-in-memory.ts'
import { createCountsOnRedis } from '../policy/counts-on-redis.ts'
import { createFarCounts } from '../policy/far-counts.ts'
import type { LimitCounts } from '../policy/limit-counts.ts'
import { windowSeconds } from '../policy/rate-limit.ts'
import type { Events } from '../telemetry/events.ts'

type Options = {
  /** The limits as they are now. */
  limits: () => Config['limits']
  redis: Redis | undefined
  events: Events
  monotonic: () => number
}

/** Where rate limits are counted: in Redis, else in memory. */
export function assembleCounts({ limits, redis, events, monotonic }: Options): {
  counts: LimitCounts
  close(): Promise<void>
} {
  const createNear = (processes?: () => number) =>
    createCountsInMemory({
      windowSeconds,
      monotonic,
      onFault: events.faulted,
      ...(processes === undefined ? {} : { processes }),
    })
  if (redis === undefined) return { counts: createNear(), close: () => Promise.resolve() }
  const processId = randomUUID()
  events.limitsShared()
  const counts = createFarCounts({
    exchange: createCountsOnRedis(redis, processId),
    processId,
    createNear,
    timeoutMs: () => limits().limitsTimeoutMs,
    onAlone: events.limitsAlone,
    onJoint: events.limitsJoint,
  })
  return { counts, close: counts.close }
}
