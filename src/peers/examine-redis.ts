import { RedisRefusal } from './redis-trouble.ts'
import { openRedis, type Redis, type RedisOptions } from './redis.ts'

type RedisFinding = { finding: string; healthy: boolean }

const usedFor = 'for limits, cached answers and announcements of all processes'

/** Connects, pings once, and reports place, latency, version and eviction policy. */
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
    return {
      finding: trouble === '' ? 'the connection was lost during the check' : trouble,
      healthy: false,
    }
  }
}

async function examined(redis: Redis): Promise<RedisFinding> {
  const from = performance.now()
  await redis.run((commands) => commands.ping())
  const ms = Math.ceil(performance.now() - from)
  // Without facts the rest is reported: the Redis user may lack permission for INFO.
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

const best = 'set maxmemory-policy to allkeys-lru'

/** Warning about the eviction policy; none if it is suitable, or memory is unlimited. */
function whenFull(bytesMax: number, policy = ''): string[] {
  if (bytesMax === 0 || /-l[rf]u$/.test(policy)) return []
  if (policy === 'noeviction') {
    return [`but refuses writes when its memory is full (maxmemory-policy noeviction): ${best}`]
  }
  return [
    `but may evict counters of limits before cached answers (maxmemory-policy ${policy}): ${best}`,
  ]
}
