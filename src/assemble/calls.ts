import { randomUUID } from 'node:crypto'
import { createBudgets } from '../accounts/budgets.ts'
import { createProviderStates } from '../accounts/provider-states.ts'
import { createCassettes } from '../accounts/cassettes.ts'
import { createLedger, createMarks } from '../accounts/ledger.ts'
import { sweepReservations } from '../accounts/reservation-sweep.ts'
import { createPictureFiles } from '../accounts/picture-files.ts'
import { createPictureLinks, pictureLinkKeyBytes } from '../accounts/picture-links.ts'
import { createStoredResponses } from '../accounts/stored-responses.ts'
import { siteAddress, workerCount, type Config } from '../settings/config.ts'
import { createAudit } from '../accounts/audit.ts'
import { createAbandonedCalls } from '../core/resilience/ending.ts'
import { createCircuit } from '../core/resilience/circuit.ts'
import { fingerprintKeyBytes } from '../core/repeats/fingerprint.ts'
import { createDeduplication } from '../core/repeats/in-flight.ts'
import type { CachedAnswer } from '../core/repeats/cached-answer.ts'
import { createUploads, uploadsKeyBytes } from '../mcp/uploads.ts'
import type { Redis } from '../peers/redis.ts'
import { createPixelQueue } from '../pictures/finish.ts'
import { createGuardedFetch, endpointConnector } from '../pictures/guarded-fetch.ts'
import { createCountsInMemory, type Counts } from '../policy/counts.ts'
import { createCountsExchange, createCountsInRedis } from '../policy/counts-in-redis.ts'
import { createIdempotency } from '../policy/idempotency.ts'
import { createRateLimit } from '../policy/rate-limit.ts'
import { createResponseCache } from '../policy/response-cache.ts'
import { createRouteHealth } from '../policy/route-order.ts'
import { connectTimeoutMs, createLines } from '../providers/transport/lines.ts'
import { createThoughtSeals, thoughtKeyBytes } from '../core/chat/sealed-thoughts.ts'
import { openCallMarks } from '../storage/call-marks.ts'
import type { GatewaySecret } from '../storage/gateway-secret.ts'
import { openPicturePlace } from '../storage/open-picture-place.ts'
import type { TakeOver } from '../v1/image-jobs/take-over.ts'
import type { Events } from '../telemetry/events.ts'
import { assembleBackground } from './background.ts'
import type { Environment, Peers, StoreParts } from './store.ts'
import { assembleWebhooks } from './webhooks.ts'

/** Pause after a failure of the shared cache. */
const sharedCachePauseMs = 500
/** Maximum number of redirects of a picture; hosts redirect to their storage once or twice. */
const redirectsMax = 3

/** Resources of calls that survive a reload: connections, caches, counts and queues. */
export type Calls = Awaited<ReturnType<typeof assembleCalls>>

type LimitsNow = () => Config['limits']
/** The current settings that may change with a reload. */
export type SettingsNow = () => Pick<Config, 'limits' | 'privateEndpointNetworks'>
type Needed = Omit<Environment, 'peers' | 'sleep' | 'random'> & {
  peers: Pick<Peers, 'redis'>
}

/**
 * Builds the resources of calls. Limits read by `limits()` change with a reload; other settings of the
 * environment stay until the process ends.
 */
export async function assembleCalls(
  environment: Needed,
  stored: Pick<StoreParts, 'store' | 'secret' | 'encryption' | 'announce'>,
  { settings, current }: { settings: SettingsNow; current: () => { takeOver: TakeOver } },
) {
  const { store, secret, encryption } = stored
  const limits: LimitsNow = () => settings().limits
  const { config, peers, events, publicNet, clock, monotonic } = environment
  const first = { ...config.limits, onCommit: events.committed }
  const remembering = { secret, limits, events, monotonic }
  const sharedCache = peers.redis && (await loadSharedCache(peers.redis, remembering))
  const bytesMax = Math.floor(first.cacheBytesMax / workerCount(config))
  const cache = createResponseCache({ bytesMax, limits, shared: sharedCache?.shared, monotonic })
  const claim = cache.readSharedCache && sharedCache?.claimsWith(cache.readSharedCache)
  const connectionsMax = first.upstreamConnectionsMax
  const guarded = createGuardedFetch({ redirectsMax, connectionsMax, ...publicNet })
  const privateNetworks = () => settings().privateEndpointNetworks
  const guardedConnector = endpointConnector({ ...publicNet, connectTimeoutMs }, privateNetworks)
  const counts = countsOf(environment, limits)
  const isOneOfSeveral = workerCount(config) > 1 || store.dialect === 'postgres'
  const inStore = { store, limits, clock, onFault: events.faulted }
  const idempotency = createIdempotency({ ...inStore, isOneOfSeveral })
  const isRunning = (id: string): boolean => background.backgroundCalls.isRunning(id)
  const webhooks = assembleWebhooks(environment, { store, encryption, guarded })
  const cassettes = createCassettes({ ...inStore, encryption, audit: createAudit(store, clock) })
  const writing = { encryption, onEvent: () => void webhooks.look() }
  const storedResponses = createStoredResponses({ ...inStore, ...writing, isRunning, events })
  const pictureFiles = await pictureFilesOf(environment, stored, limits)
  const running = { store, ...writing, storedResponses, current }
  const background = assembleBackground(environment, running)
  const abandonedCalls = createAbandonedCalls(events.left)
  const budgeted = budgetsOf(environment, store)
  return {
    guarded,
    pixelQueue: createPixelQueue(first),
    lines: createLines({ monotonic, clock, guardedConnector }),
    guardedConnector,
    cache,
    deduplication: createDeduplication(secret.keyFor('fingerprints', fingerprintKeyBytes), claim),
    health: createRouteHealth({ limits, monotonic }),
    counts,
    rateLimit: createRateLimit({ counts, defaults: limits, monotonic }),
    record: createLedger(store, events.recorded, first),
    ...budgeted.parts,
    idempotency,
    storedResponses,
    pictureFiles,
    ...background,
    webhooks,
    cassettes,
    providerStates: createProviderStates({ ...stored, clock }),
    abandonedCalls,
    /** Aborts the calls that no client waits for, with a ProviderFailure. */
    endLeft: (reason: Error) => {
      abandonedCalls.endAll(reason)
      background.backgroundCalls.endAll(reason)
    },
    sealOf: createThoughtSeals(secret.keyFor('reasoning sent back', thoughtKeyBytes)),
    uploads: uploadsOf(environment, secret),
    /** Closes the resources; must be called after the last call has ended. */
    close: async () => {
      for (const one of [background, storedResponses, cassettes]) one.close()
      await budgeted.close()
      await Promise.all([pictureFiles.close(), webhooks.close(), counts.close()])
      await guarded.close()
      await idempotency.close()
    },
  }
}

/** Budgets, the marks of calls, and the sweep of what calls of dead processes left. */
function budgetsOf(
  { config: { limits, dataDir }, clock, events }: Needed,
  store: StoreParts['store'],
) {
  const marks = openCallMarks(dataDir)
  const counted = { ...limits, onCommit: events.committed }
  const budgets = createBudgets({ store, marks, clock, limits: counted })
  const sweep = sweepReservations({
    store,
    budgets,
    marks,
    clock,
    intervalMs: limits.reservationSweepMs,
    onAbandoned: events.reservationAbandoned,
    onUnknown: events.callLost,
    onSwept: (error) => events.worked('reservation_sweep', error),
  })
  return {
    parts: { budgets, mark: createMarks(marks), openMarks: marks.count },
    close: async () => {
      sweep.close()
      marks.close({ keepsFile: !(await budgets.leases.close()) })
    },
  }
}

function uploadsOf({ config: { uploadDir, limits }, monotonic }: Needed, secret: GatewaySecret) {
  const key = secret.keyFor('saved pictures', uploadsKeyBytes)
  return uploadDir === undefined ? undefined : createUploads(uploadDir, limits, { key, monotonic })
}

async function pictureFilesOf(
  environment: Needed,
  { store, secret, encryption }: Pick<StoreParts, 'store' | 'secret' | 'encryption'>,
  limits: LimitsNow,
) {
  const { config, clock, monotonic, events } = environment
  const key = secret.keyFor('picture links', pictureLinkKeyBytes)
  return createPictureFiles({
    store,
    encryption,
    links: createPictureLinks({ key, baseUrl: siteAddress(config), clock }),
    place: await openPicturePlace(environment),
    onFailure: config.pictureStorageFailure,
    limits,
    clock,
    monotonic,
    events,
  })
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
type ReadSharedCache = (key: string) => Promise<CachedAnswer | undefined>

/** The cache that processes share in Redis; Keyv is loaded only when Redis is configured. */
async function loadSharedCache(redis: Redis, parts: SharedCacheParts) {
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
    /** Joins identical calls of all processes; `readSharedCache` reads the shared cache. */
    claimsWith: (readSharedCache: ReadSharedCache) =>
      createRedisClaims({ ask, circuit, namespace, isOn, readSharedCache }),
  }
}
