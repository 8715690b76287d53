import { startPostgres, type TestPostgres } from '../../test/support/servers/postgres.ts'
import { startRedis, type TestRedis } from '../../test/support/servers/redis.ts'

/** URLs of PostgreSQL and Redis. By default the gateway uses SQLite and its own memory. */
export type Stores = { databaseUrl?: string; redisUrl?: string }

let started: Promise<[TestPostgres, TestRedis]> | undefined

/** Starts PostgreSQL (with fsync, as in production) and Redis, and makes a new database; both end with the script. */
export const startStores = async (): Promise<Stores> => {
  started ??= Promise.all([startPostgres({ fsync: 'on' }), startRedis()])
  const [postgres, redis] = await started
  return { databaseUrl: await postgres.createDatabase(), redisUrl: redis.url }
}
