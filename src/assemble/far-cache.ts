import type { Config } from '../config.ts'
import type { Claim } from '../core/recall/in-flight.ts'
import type { Remembered } from '../core/recall/remembered.ts'
import type { Redis } from '../peers/redis.ts'
import type { FarCache } from '../policy/far-cache/far-cache.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import type { Events } from '../telemetry/events.ts'

type Parts = {
  secret: GatewaySecret
  limits: () => Config['limits']
  events: Pick<Events, 'farCacheAsked'>
  monotonic: () => number
}
type Assembled = {
  far: FarCache
  /** Joins identical calls; `recallFar` looks into the far cache. */
  claimsWith: (recallFar: RecallFar) => (key: string) => Claim<Remembered>
}
type RecallFar = (key: string) => Promise<Remembered | undefined>

/** After a failure, nothing is asked for so long. */
const pauseMs = 500
/** A call waits for it before its vendor is asked, who takes longer for anything. */
const timeoutStandardMs = 150

/** What processes remember together in Redis; Keyv is loaded only where there is one. */
export async function assembleFarCache(redis: Redis, parts: Parts): Promise<Assembled> {
  const [
    { createFarCache },
    { createCircuit },
    { createSeal, sealForm, sealKeyBytes },
    { createAskRedis },
    { createRedisBytes },
    { createRedisClaims },
  ] = await Promise.all([
    import('../policy/far-cache/far-cache.ts'),
    import('../policy/far-cache/circuit.ts'),
    import('../policy/far-cache/seal.ts'),
    import('../policy/far-cache/redis-operations.ts'),
    import('../policy/far-cache/redis-bytes.ts'),
    import('../policy/far-cache/redis-claims.ts'),
  ])
  const { secret, limits, events, monotonic } = parts
  const timeoutMs = () => limits().farCacheTimeoutMs ?? timeoutStandardMs
  const ask = createAskRedis(redis, timeoutMs)
  const circuit = createCircuit(pauseMs, monotonic)
  // Gateways with other stores, and other versions, may use the same Redis.
  const names = `${secret.keyFor('names in Redis', 9).toString('base64url')}:${sealForm}`
  const far = createFarCache({
    bytes: createRedisBytes({ redis, ask, timeoutMs }),
    seal: createSeal(secret.keyFor('seals of answers', sealKeyBytes)),
    circuit,
    namespace: `${names}:answers`,
    onOutcome: events.farCacheAsked,
  })
  const isOn = () => limits().cacheTtlSeconds > 0
  const namespace = `${names}:claims`
  return {
    far,
    claimsWith: (recallFar) => createRedisClaims({ ask, circuit, namespace, isOn, recallFar }),
  }
}
