import { RedisRefusal } from './redis-trouble.ts'
import { openRedis, type Redis, type RedisOptions } from './redis.ts'

/** What a look at a Redis has found; it holds no secret. */
type RedisFinding = { finding: string; healthy: boolean }

const usedFor = 'limits, answers and announcements of all processes'

/** Connects, asks once, and tells where it is, how fast it answers and what it does when it is full. */
export async function examineRedis(options: Omit<RedisOptions, 'events'>): Promise<RedisFinding> {
  let trouble = ''
  const events: RedisOptions['events'] = {
    redisLost: (place, { reason, remedy }) => {
      trouble = `${place} does not answer: ${reason}. ${remedy}`
    },
    redisBack: () => undefined,
    redisRefused: () => undefined,
  }
  try {
    const redis = await openRedis({ ...options, events })
    try {
      return redis.isUp() ? await examined(redis) : { finding: trouble, healthy: false }
    } finally {
      redis.close()
    }
  } catch (error) {
    if (error instanceof RedisRefusal) return { finding: error.message, healthy: false }
    return { finding: trouble === '' ? 'it was lost while it was asked' : trouble, healthy: false }
  }
}

async function examined(redis: Redis): Promise<RedisFinding> {
  const from = performance.now()
  await redis.run((commands) => commands.ping())
  const ms = Math.ceil(performance.now() - from)
  // A user who may not ask is no reason to say that it does not answer.
  const facts = await redis.run((commands) => commands.info()).catch(() => '')
  const fact = (name: string) => new RegExp(`^${name}:(.+?)\\r?$`, 'm').exec(facts)?.[1]
  const version = fact('redis_version')
  const parts = [
    `${redis.place} answers in ${ms} ms`,
    ...(version === undefined ? [] : [`version ${version}`]),
    usedFor,
    ...whenFull(Number(fact('maxmemory') ?? 0), fact('maxmemory_policy')),
  ]
  return { finding: parts.join(', '), healthy: true }
}

const best = 'set it to allkeys-lru'

/** What it loses when its memory is full; none where that is right, or has no limit. */
function whenFull(bytesMax: number, policy = ''): string[] {
  if (bytesMax === 0 || /-l[rf]u$/.test(policy)) return []
  if (policy === 'noeviction') {
    return [`but refuses commands when it is full (maxmemory-policy noeviction): ${best}`]
  }
  return [`but may evict counts of limits before answers (maxmemory-policy ${policy}): ${best}`]
}
