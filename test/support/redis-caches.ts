import { randomBytes } from 'node:crypto'
import type { Claim } from '../../src/core/repeats/in-flight.ts'
import type { CachedAnswer } from '../../src/core/repeats/cached-answer.ts'
import { openRedis, type Redis } from '../../src/peers/redis.ts'
import { createCircuit } from '../../src/core/resilience/circuit.ts'
import {
  createSharedCache,
  type SharedCacheBytes,
} from '../../src/policy/redis-cache/redis-cache.ts'
import { createRedisBytes } from '../../src/policy/redis-cache/redis-bytes.ts'
import { createAskRedis } from '../../src/policy/redis-cache/redis-operations.ts'
import { createRedisClaims } from '../../src/policy/redis-cache/redis-claims.ts'
import { createSeal, sealKeyBytes } from '../../src/policy/redis-cache/seal.ts'
import { createResponseCache, type ResponseCache } from '../../src/policy/response-cache.ts'
import { startRedis, type TestRedis } from './servers/redis.ts'

/** The response cache of one process; each process has its own memory. */
export type TestProcess = ResponseCache & {
  claim: (key: string) => Claim<CachedAnswer>
  /** Outcomes of requests to the shared cache, in order. */
  outcomes: string[]
  readSharedCache: NonNullable<ResponseCache['readSharedCache']>
}

/** Several processes that share one cache. */
export type Together = {
  processes: readonly TestProcess[]
  /** Adds a process, with its own options. */
  join(options?: Options): TestProcess
  end(): Promise<void>
  redis?: TestRedis
  connection?: Redis
}

type Options = {
  count?: number
  key?: Buffer
  namespace?: string
  limits?: Partial<typeof standard>
  /** Timeout of a request to the shared cache. */
  timeoutMs?: number
}

const standard = {
  cacheTtlSeconds: 60,
  sharedCacheWritesMax: 8,
  sharedCacheWrittenBytesMax: 20_000_000,
}
const sealKey = randomBytes(sealKeyBytes)
// Long, so that nothing times out on a busy machine.
const standardTimeoutMs = 2000
const monotonic = () => performance.now()

type Shared = {
  bytes: SharedCacheBytes
  claims: (
    parts: Pick<TestProcess, 'readSharedCache'> & { circuit: ReturnType<typeof createCircuit> },
  ) => TestProcess['claim']
}

function processOf({ bytes, claims }: Shared, options: Options = {}): TestProcess {
  const { key = sealKey, namespace = 'one:answers', limits = {} } = options
  const all = { ...standard, ...limits }
  const outcomes: string[] = []
  const circuit = createCircuit({
    failuresMax: () => 1,
    pauseMs: 200,
    pauseMaxMs: 200,
    monotonic,
  })
  const shared = createSharedCache({
    bytes,
    seal: createSeal(key),
    circuit,
    namespace,
    limits: () => all,
    onOutcome: (outcome) => void outcomes.push(outcome),
  })
  const cache = createResponseCache({ bytesMax: 16_000_000, limits: () => all, shared, monotonic })
  const readSharedCache = cache.readSharedCache!
  return { ...cache, readSharedCache, outcomes, claim: claims({ readSharedCache, circuit }) }
}

const noClaims = () => () => ({
  elsewhere: Promise.resolve(undefined),
  succeed: () => undefined,
  leave: () => undefined,
})

/** Processes that share a map in memory. */
export async function togetherInMemory(options: Options = {}): Promise<Together> {
  const kept = new Map<string, { bytes: Buffer; endsAt: number }>()
  const bytes: SharedCacheBytes = {
    read: async (name) => {
      const found = kept.get(name)
      return found && { bytes: found.bytes, leftMs: found.endsAt - monotonic() }
    },
    write: async (name, written, ttlMs) => {
      kept.set(name, { bytes: written, endsAt: monotonic() + ttlMs })
    },
  }
  const shared = { bytes, claims: noClaims }
  const join = (own: Options = {}) => processOf(shared, { ...options, ...own })
  const processes = Array.from({ length: options.count ?? 2 }, () => join())
  return { processes, join, end: async () => undefined }
}

/** Processes that share one Redis. */
export async function togetherInRedis(
  options: Options & { words?: readonly string[] } = {},
): Promise<Together> {
  const redis = await startRedis(options.words)
  const connections = await Promise.all(
    Array.from({ length: options.count ?? 2 }, () => connect(redis.url)),
  )
  const processes = connections.map((connection) => redisProcess(connection, options))
  const end = async () => {
    for (const connection of connections) connection.close()
    await redis.stop()
  }
  const join = (own: Options = {}) => redisProcess(connections[0]!, { ...options, ...own })
  return { processes, join, redis, connection: connections[0]!, end }
}

function redisProcess(redis: Redis, options: Options = {}): TestProcess {
  const { limits = {} } = options
  const timeoutMs = () => options.timeoutMs ?? standardTimeoutMs
  const ask = createAskRedis(redis, timeoutMs)
  return processOf(
    {
      bytes: createRedisBytes({ redis, ask, timeoutMs }),
      claims: ({ readSharedCache, circuit }) =>
        createRedisClaims({
          ask,
          circuit,
          namespace: 'one:claims',
          isOn: () => limits.cacheTtlSeconds !== 0,
          readSharedCache,
        }),
    },
    options,
  )
}

function connect(url: string): Promise<Redis> {
  return openRedis({
    url,
    keyPrefix: 'gateway:',
    limits: {
      // Long, so that no connection times out on a busy machine.
      redisConnectTimeoutMs: standardTimeoutMs,
      redisCommandTimeoutMs: standardTimeoutMs,
      redisPingIntervalMs: standardTimeoutMs,
    },
    events: {
      redisLost: () => undefined,
      redisBack: () => undefined,
      redisRefused: () => undefined,
    },
  })
}
