import type { Config, Secrets } from '../config.ts'
import { aloneChannel, type Channel } from '../peers/channel.ts'
import { createRedisChannel } from '../peers/redis-channel.ts'
import { openRedis, type Redis } from '../peers/redis.ts'
import type { Events } from '../telemetry/events.ts'

type Options = {
  config: Pick<Config, 'redisKeyPrefix' | 'limits'>
  secrets: Pick<Secrets, 'redisUrl'>
  events: Events
}

/** What crosses processes: replicas, and workers of one machine alike. */
export type Peers = {
  redis: Redis | undefined
  /** To all other processes. */
  channel: Channel
  close(): void
}

/** Throws a RedisRefusal. */
export async function assemblePeers(options: Options): Promise<Peers> {
  const redis = await redisOf(options)
  const channel = redis === undefined ? aloneChannel : createRedisChannel(redis)
  return { redis, channel, close: () => redis?.close() }
}

async function redisOf({
  config: { redisKeyPrefix: keyPrefix, limits },
  secrets: { redisUrl },
  events,
}: Options): Promise<Redis | undefined> {
  if (redisUrl === undefined) return undefined
  const redis = await openRedis({ url: redisUrl, keyPrefix, limits, events })
  if (redis.isUp()) events.redisUsed(redis.place)
  return redis
}
