import type { Config } from '../config.ts'
import type { Claim } from '../core/recall/in-flight.ts'
import type { Remembered } from '../core/recall/remembered.ts'
import type { PrimaryLine } from '../peers/primary-line.ts'
import type { Redis } from '../peers/redis.ts'
import type { FarCache } from '../policy/far-cache/far-cache.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import type { Events } from '../telemetry/events.ts'

/** What processes remember together: in Redis, else at the primary; undefined for one that is alone. */
export type ConnectFarCache = (parts: Parts) => {
  far: FarCache
  /** Joins identical calls; `recallFar` looks into the far cache. */
  claimsWith: (recallFar: RecallFar) => (key: string) => Claim<Remembered>
}
type RecallFar = (key: string) => Promise<Remembered | undefined>
type Parts = {
  secret: GatewaySecret
  limits: () => Config['limits']
  events: Pick<Events, 'farCacheAsked'>
  monotonic: () => number
}

/** After a failure, nothing is asked for so long. */
const pauseMs = 500
/** A call waits for it before its vendor is asked, who takes longer for anything. */
const timeoutStandardMs = 150

/** Loads what is needed for it. */
export async function loadFarCache({
  redis,
  line,
}: {
  redis?: Redis | undefined
  line?: PrimaryLine | undefined
}): Promise<ConnectFarCache | undefined> {
  if (redis !== undefined) return loadForRedis(redis)
  return line === undefined ? undefined : loadForPrimary(line)
}

async function loadForRedis(redis: Redis): Promise<ConnectFarCache> {
  const [connect, { createAskRedis }, { createRedisBytes }, { createRedisClaims }] =
    await Promise.all([
      loadConnector(),
      import('../policy/far-cache/redis-operations.ts'),
      import('../policy/far-cache/redis-bytes.ts'),
      import('../policy/far-cache/redis-claims.ts'),
    ])
  return (parts) => {
    const { limits } = parts
    const timeoutMs = () => limits().farCacheTimeoutMs ?? timeoutStandardMs
    const ask = createAskRedis(redis, timeoutMs)
    const bytes = createRedisBytes({ redis, ask, timeoutMs })
    const { circuit, names, ...rest } = connect(parts, bytes)
    const isOn = () => limits().cacheTtlSeconds > 0
    const namespace = `${names}:claims`
    return {
      ...rest,
      claimsWith: (recallFar) => createRedisClaims({ ask, circuit, namespace, isOn, recallFar }),
    }
  }
}

async function loadForPrimary(line: PrimaryLine): Promise<ConnectFarCache> {
  const [connect, { createPrimaryBytes }, { createPrimaryClaims }] = await Promise.all([
    loadConnector(),
    import('../policy/far-cache/primary-bytes.ts'),
    import('../policy/far-cache/primary-claims.ts'),
  ])
  return (parts) => {
    const { limits } = parts
    const timeoutMs = () => limits().farCacheTimeoutMs ?? timeoutStandardMs
    const bytes = createPrimaryBytes(line, timeoutMs)
    const { seal, far } = connect(parts, bytes)
    const bytesMax = limits().primaryMessageBytesMax
    return {
      far,
      claimsWith: (recallFar) =>
        createPrimaryClaims({ line, seal, bytesMax, timeoutMs, recallFar }),
    }
  }
}

/** Keyv is loaded only where there is a far cache. */
async function loadConnector() {
  const [{ createFarCache }, { createCircuit }, { createSeal, sealForm, sealKeyBytes }] =
    await Promise.all([
      import('../policy/far-cache/far-cache.ts'),
      import('../policy/far-cache/circuit.ts'),
      import('../policy/far-cache/seal.ts'),
    ])
  return (
    { secret, events, monotonic }: Parts,
    bytes: Parameters<typeof createFarCache>[0]['bytes'],
  ) => {
    const seal = createSeal(secret.keyFor('seals of answers', sealKeyBytes))
    const circuit = createCircuit(pauseMs, monotonic)
    // Gateways with other stores, and other versions, may use the same Redis.
    const names = `${secret.keyFor('names in Redis', 9).toString('base64url')}:${sealForm}`
    const far = createFarCache({
      bytes,
      seal,
      circuit,
      namespace: `${names}:answers`,
      onOutcome: events.farCacheAsked,
    })
    return { seal, circuit, names, far }
  }
}
