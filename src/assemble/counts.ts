import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import type { Redis } from '../peers/redis.ts'
import { askPrimaryForCounts } from '../policy/counts-for-workers.ts'
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
  /** Where this process is a worker. */
  primary: PrimaryLine | undefined
  events: Events
  monotonic: () => number
}

/** Where rate limits are counted: in Redis, else by the primary, else in memory. */
export function assembleCounts({ limits, redis, primary, events, monotonic }: Options): {
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
  const processId = randomUUID()
  const exchange =
    redis === undefined
      ? primary && askPrimaryForCounts(primary)
      : createCountsOnRedis(redis, processId)
  if (exchange === undefined) return { counts: createNear(), close: () => Promise.resolve() }
  events.limitsShared()
  const counts = createFarCounts({
    exchange,
    processId,
    createNear,
    // A primary that is slow is there all the same: without it there would be no workers.
    timeoutMs: () =>
      redis === undefined ? limits().primaryAnswerTimeoutMs : limits().limitsTimeoutMs,
    onAlone: events.limitsAlone,
    onJoint: events.limitsJoint,
  })
  return { counts, close: counts.close }
}
