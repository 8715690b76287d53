import { RESP_TYPES } from '@redis/client'
import type { Redis } from '../../peers/redis.ts'
import type { FarBytes } from './far-cache.ts'

type Options = {
  redis: Pick<Redis, 'run'>
  /** Of a read. */
  timeoutMs: () => number
}
type Commands = Parameters<Parameters<Redis['run']>[0]>[0]

const asBuffers = { [RESP_TYPES.BLOB_STRING]: Buffer } as const
/** What is not written by then fills memory; a connection that hangs is given up long before. */
const writeTimeoutMs = 5000

/** Bytes in Redis, which forgets them when their time is over, or earlier when it needs the room. */
export function createRedisBytes({ redis, timeoutMs }: Options): FarBytes {
  return {
    read: async (name, bytesMax) => {
      // Whatever lies under the name: no more than one byte too many is read.
      const ask = (commands: Commands) => {
        const binary = commands.withTypeMapping(asBuffers)
        return Promise.all([binary.getRange(name, 0, bytesMax), binary.pTTL(name)])
      }
      const read = await redis.run(ask, timeoutMs()).catch(strangeOrThrow)
      if (read === 'strange') return read
      const [bytes, leftMs] = read
      if (bytes === null || bytes.length === 0) return undefined
      return bytes.length > bytesMax ? 'strange' : { bytes, leftMs }
    },
    write: async (name, bytes, ttlMs) => {
      const expiration = { type: 'PX' as const, value: Math.ceil(ttlMs) }
      await redis.run((commands) => commands.set(name, bytes, { expiration }), writeTimeoutMs)
    },
  }
}

/** Something else than bytes lies there, which nobody of ours has put there. */
function strangeOrThrow(error: unknown): 'strange' {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return 'strange'
  throw error
}
