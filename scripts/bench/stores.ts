import { startPostgres, type TestPostgres } from '../../test/support/servers/postgres.ts'
import { startRedis, type TestRedis } from '../../test/support/servers/redis.ts'

/** Where a gateway keeps what it shares with others; in itself what has no place. */
export type Stores = { databaseUrl?: string; redisUrl?: string }

let started: Promise<[TestPostgres, TestRedis]> | undefined

/** A new database in a PostgreSQL that flushes as in production, and a Redis; both end with the script. */
export const startStores = async (): Promise<Stores> => {
  started ??= Promise.all([startPostgres({ fsync: 'on' }), startRedis()])
  const [postgres, redis] = await started
  return { databaseUrl: await postgres.createDatabase(), redisUrl: redis.url }
}
