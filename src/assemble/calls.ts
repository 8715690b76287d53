import { randomUUID } from 'node:crypto'
import type { Queue } from '../bytes/queue.ts'
import { createBudgets, type Budgets } from '../accounts/budgets.ts'
import { createLedger } from '../accounts/ledger.ts'
import { sweepReservations } from '../accounts/reservation-sweep.ts'
import { createStoredResponses, type KeptResponses } from '../accounts/stored-responses.ts'
import { workerCount, type Config } from '../settings/config.ts'
import type { CallParts } from '../core/call.ts'
import { createBackgroundCalls, type BackgroundCalls } from '../core/resilience/background-calls.ts'
import { createAbandonedCalls, type AbandonedCalls } from '../core/resilience/ending.ts'
import { createCircuit } from '../core/resilience/circuit.ts'
import { fingerprintKeyBytes } from '../core/recall/fingerprint.ts'
import { createDeduplication, type Deduplication, type Claim } from '../core/recall/in-flight.ts'
import type { CachedAnswer } from '../core/recall/cached-answer.ts'
import { createUploads, uploadsKeyBytes, type Uploads } from '../mcp/uploads.ts'
import type { Redis } from '../peers/redis.ts'
import { createPixelQueue } from '../pictures/finish.ts'
import {
  createGuardedFetch,
  endpointConnector,
  type GuardedFetch,
} from '../pictures/guarded-fetch.ts'
import { createCountsInMemory, type Counts } from '../policy/counts.ts'
import { createCountsExchange, createCountsInRedis } from '../policy/counts-in-redis.ts'
import type { SharedCache } from '../policy/redis-cache/redis-cache.ts'
import { createIdempotency, type Idempotency } from '../policy/idempotency.ts'
import { createRateLimit, type RateLimit } from '../policy/rate-limit.ts'
import { createResponseCache, type ResponseCache } from '../policy/response-cache.ts'
import { createRouteHealth, type Health } from '../policy/route-order.ts'
import type { Connector } from '../providers/transport/dispatch.ts'
import { connectTimeoutMs, createLines, type Lines } from '../providers/transport/lines.ts'
import {
  createThoughtSeals,
  thoughtKeyBytes,
  type ThoughtSeal,
} from '../core/chat/sealed-thoughts.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import type { Events } from '../telemetry/events.ts'
import type { Environment, Peers, StoreParts } from './store.ts'

/** Pause after a failure of the shared cache. */
const sharedCachePauseMs = 500
/** Maximum number of redirects of a picture; hosts redirect to their storage once or twice. */
const pictureRedirectsMax = 3

/** Resources of calls that survive a reload: connections, caches, counts and queues. */
export type Calls = {
  guarded: GuardedFetch
  pixelQueue: Queue
  /** Connections to providers. */
  lines: Lines
  /** Opens the connections to endpoints of the stored settings. */
  guardedConnector: Connector
  cache: ResponseCache
  deduplication: Deduplication
  health: Health
  counts: Counts
  rateLimit: RateLimit
  budgets: Budgets
  /** Writes the usage row of a call. */
  record: CallParts['record']
  idempotency: Idempotency
  storedResponses: KeptResponses
  backgroundCalls: BackgroundCalls
  abandonedCalls: AbandonedCalls
  uploads: Uploads | undefined
  sealOf: (accountId: string) => ThoughtSeal
  /** Aborts the calls that no client waits for, with a ProviderFailure. */
  endLeft: (reason: Error) => void
  /** Closes the resources; must be called after the last call has ended. */
  close: () => Promise<void>
}

type LimitsNow = () => Config['limits']
/** The current settings that may change with a reload. */
export type SettingsNow = () => Pick<Config, 'limits' | 'privateEndpointNetworks'>
type Needed = Omit<Environment, 'secrets' | 'peers' | 'sleep' | 'random'> & {
  peers: Pick<Peers, 'redis'>
}

/**
 * Builds the resources of calls. Limits read by `limits()` change with a reload; other settings of the
 * environment stay until the process ends.
 */
export async function assembleCalls(
  environment: Needed,
  { store, secret, encryption }: Pick<StoreParts, 'store' | 'secret' | 'encryption'>,
  settings: SettingsNow,
): Promise<Calls> {
  const limits: LimitsNow = () => settings().limits
  const { config, peers, events, publicNet, clock, monotonic } = environment
  const { limits: first, uploadDir } = config
  const { redis } = peers
  const remembering = { secret, limits, events, monotonic }
  const sharedCache = redis && (await loadSharedCache(redis, remembering))
  const bytesMax = Math.floor(first.cacheBytesMax / workerCount(config))
  const cache = createResponseCache({ bytesMax, limits, shared: sharedCache?.shared, monotonic })
  const claim = cache.recallShared && sharedCache?.claimsWith(cache.recallShared)
  const fingerprintKey = secret.keyFor('fingerprints', fingerprintKeyBytes)
  const guarded = createGuardedFetch({
    redirectsMax: pictureRedirectsMax,
    connectionsMax: first.upstreamConnectionsMax,
    ...publicNet,
  })
  const guardedConnector = endpointConnector(
    { ...publicNet, connectTimeoutMs },
    () => settings().privateEndpointNetworks,
  )
  const counts = countsOf(environment, limits)
  const isOneOfSeveral = workerCount(config) > 1 || store.dialect === 'postgres'
  const onFault = events.faulted
  const idempotency = createIdempotency({ store, limits, clock, onFault, isOneOfSeveral })
  const storedResponses = createStoredResponses({ store, encryption, limits, clock, events })
  const backgroundCalls = createBackgroundCalls({ ...storedResponses, onFault, limits: first })
  const abandonedCalls = createAbandonedCalls(events.left)
  const budgets = createBudgets({ store, clock })
  const reservations = sweepReservations({
    store,
    budgets,
    clock,
    onAbandoned: events.reservationAbandoned,
    onSwept: (error) => events.worked('reservation_sweep', error),
  })
  const key = secret.keyFor('saved pictures', uploadsKeyBytes)
  return {
    guarded,
    pixelQueue: createPixelQueue(first),
    lines: createLines({ monotonic, clock, guardedConnector }),
    guardedConnector,
    cache,
    deduplication: createDeduplication(fingerprintKey, claim),
    health: createRouteHealth({ limits, monotonic }),
    counts,
    rateLimit: createRateLimit({ counts, defaults: limits, monotonic }),
    budgets,
    record: createLedger(store, events.recorded),
    idempotency,
    storedResponses,
    backgroundCalls,
    abandonedCalls,
    endLeft: endingAll(abandonedCalls, backgroundCalls),
    sealOf: createThoughtSeals(secret.keyFor('reasoning sent back', thoughtKeyBytes)),
    uploads:
      uploadDir === undefined ? undefined : createUploads(uploadDir, first, { key, monotonic }),
    close: async () => {
      reservations.close()
      storedResponses.close()
      await counts.close()
      await guarded.close()
      await idempotency.close()
    },
  }
}

type Ended = Pick<AbandonedCalls | BackgroundCalls, 'endAll'>

function endingAll(...all: readonly Ended[]): (reason: Error) => void {
  return (reason) => {
    for (const one of all) one.endAll(reason)
  }
}

/** Counts rate limits and attempts in Redis, or in memory without Redis. */
function countsOf({ peers: { redis }, events, monotonic }: Needed, limits: LimitsNow): Counts {
  if (redis === undefined) return createCountsInMemory(monotonic)
  const processId = randomUUID()
  events.limitsShared()
  return createCountsInRedis({
    exchange: createCountsExchange(redis, processId),
    processId,
    timeoutMs: () => limits().limitsTimeoutMs,
    monotonic,
    onAlone: events.limitsAlone,
    onJoint: events.limitsJoint,
  })
}

type SharedCacheParts = {
  secret: GatewaySecret
  limits: LimitsNow
  events: Pick<Events, 'sharedCacheUsed'>
  monotonic: () => number
}
type Remembering = {
  shared: SharedCache
  /** Joins identical calls of all processes; `recallShared` reads the shared cache. */
  claimsWith: (recallShared: RecallShared) => (key: string) => Claim<CachedAnswer>
}
type RecallShared = (key: string) => Promise<CachedAnswer | undefined>

/** The cache that processes share in Redis; Keyv is loaded only when Redis is configured. */
async function loadSharedCache(redis: Redis, parts: SharedCacheParts): Promise<Remembering> {
  const [
    { createSharedCache },
    { createSeal, sealForm, sealKeyBytes },
    { createAskRedis },
    { createRedisBytes },
    { createRedisClaims },
  ] = await Promise.all([
    import('../policy/redis-cache/redis-cache.ts'),
    import('../policy/redis-cache/seal.ts'),
    import('../policy/redis-cache/redis-operations.ts'),
    import('../policy/redis-cache/redis-bytes.ts'),
    import('../policy/redis-cache/redis-claims.ts'),
  ])
  const { secret, limits, events, monotonic } = parts
  const timeoutMs = () => limits().sharedCacheTimeoutMs
  const ask = createAskRedis(redis, timeoutMs)
  const circuit = createCircuit({
    failuresMax: () => 1,
    pauseMs: sharedCachePauseMs,
    pauseMaxMs: sharedCachePauseMs,
    monotonic,
  })
  // The names differ by secret and seal format, since other gateways and versions may use the same Redis.
  const names = `${secret.keyFor('names in Redis', 9).toString('base64url')}:${sealForm}`
  const shared = createSharedCache({
    bytes: createRedisBytes({ redis, ask, timeoutMs }),
    seal: createSeal(secret.keyFor('seals of answers', sealKeyBytes)),
    circuit,
    namespace: `${names}:answers`,
    limits,
    onOutcome: events.sharedCacheUsed,
  })
  const isOn = () => limits().cacheTtlSeconds > 0
  const namespace = `${names}:claims`
  return {
    shared,
    claimsWith: (recallShared) =>
      createRedisClaims({ ask, circuit, namespace, isOn, recallShared }),
  }
}
