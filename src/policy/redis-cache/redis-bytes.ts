import { RESP_TYPES } from '@redis/client'
import type { RedisCommands } from '../../peers/redis-link.ts'
import type { Redis } from '../../peers/redis.ts'
import type { SharedCacheBytes } from './redis-cache.ts'
import { lateAnswerMs, smallBytesMax, unusable, type AskRedis } from './redis-operations.ts'

type Options = {
  redis: Pick<Redis, 'run'>
  ask: AskRedis
  /** The timeout of a read. */
  timeoutMs: () => number
}

const asBuffers = { [RESP_TYPES.BLOB_STRING]: Buffer } as const

/** Stores bytes in Redis, which removes them when they expire, or earlier when its memory is full. */
export function createRedisBytes({ redis, ask, timeoutMs }: Options): SharedCacheBytes {
  /** The entry may have changed since its length was read: at most `bytesMax` + 1 bytes are read. */
  const readLarge = async (name: string, bytesMax: number) => {
    const both = (commands: RedisCommands) => {
      const binary = commands.withTypeMapping(asBuffers)
      return Promise.all([binary.getRange(name, 0, bytesMax), binary.pTTL(name)])
    }
    const read = await redis.run(both, timeoutMs()).catch(unusableOrThrow)
    if (read === 'unusable') return read
    const [bytes, leftMs] = read
    if (bytes === null || bytes.length === 0) return undefined
    return bytes.length > bytesMax ? 'unusable' : { bytes, leftMs }
  }
  return {
    read: async (name, bytesMax) => {
      const read = await ask({ name: 'read', key: name })
      if (read === null || read === 0) return undefined
      if (typeof read === 'object') return { bytes: read[0], leftMs: read[1] }
      return read === unusable || read > bytesMax ? 'unusable' : readLarge(name, bytesMax)
    },
    write: async (name, bytes, ttlMs) => {
      const ms = Math.ceil(ttlMs)
      if (bytes.length <= smallBytesMax) {
        await ask({ name: 'write', key: name, ms, bytes })
      } else {
        const expiration = { type: 'PX' as const, value: ms }
        await redis.run((commands) => commands.set(name, bytes, { expiration }), lateAnswerMs)
      }
    },
  }
}

/** `unusable` for a value that is not a string, which the gateway did not write; rethrows other errors. */
function unusableOrThrow(error: unknown): 'unusable' {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return 'unusable'
  throw error
}
