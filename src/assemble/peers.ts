import type { Config, Secrets } from '../config.ts'
import { aloneChannel, type Channel } from '../peers/channel.ts'
import { createLineChannel } from '../peers/line-channel.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import { createRedisChannel } from '../peers/redis-channel.ts'
import { openRedis, type Redis } from '../peers/redis.ts'
import type { Events } from '../telemetry/events.ts'

type Options = {
  config: Pick<Config, 'redisKeyPrefix' | 'limits'>
  secrets: Pick<Secrets, 'redisUrl'>
  events: Events
  /** Where this process is a worker. */
  primary: PrimaryLine | undefined
}

/** What crosses processes. With Redis, workers are replicas like any other. */
export type Peers = {
  redis: Redis | undefined
  /** To all other processes. */
  channel: Channel
  /** To those alone that have settings of their own. */
  replicas: Channel
  close(): void
}

/** Throws a RedisRefusal. */
export async function assemblePeers({ config, secrets, events, primary }: Options): Promise<Peers> {
  const redis = await redisOf({ config, secrets, events })
  const replicas = redis === undefined ? aloneChannel : createRedisChannel(redis)
  const isWorkerAlone = redis === undefined && primary !== undefined
  const channel = isWorkerAlone ? createLineChannel(primary) : replicas
  return { redis, channel, replicas, close: () => redis?.close() }
}

async function redisOf({
  config: { redisKeyPrefix: keyPrefix, limits },
  secrets: { redisUrl },
  events,
}: Omit<Options, 'primary'>): Promise<Redis | undefined> {
  if (redisUrl === undefined) return undefined
  const redis = await openRedis({ url: redisUrl, keyPrefix, limits, events })
  if (redis.isUp()) events.redisUsed(redis.place)
  return redis
}
