import { createBudgets, type Budgets } from '../accounts/budgets.ts'
import { createLedger } from '../accounts/ledger.ts'
import { sweepReservations } from '../accounts/reservation-sweep.ts'
import { workerCount, type Config } from '../config.ts'
import type { CallParts } from '../core/call.ts'
import { createLeftCalls, type LeftCalls } from '../core/ending.ts'
import type { Darkroom } from '../core/image/darkroom.ts'
import { fingerprintKeyBytes } from '../core/recall/fingerprint.ts'
import { createRecollection, type Recollection } from '../core/recall/recollection.ts'
import { createUploads, uploadsKeyBytes, type Uploads } from '../mcp/uploads.ts'
import { createDarkroom } from '../pictures/finish.ts'
import { createGuardedFetch, type GuardedFetch } from '../pictures/guarded-fetch.ts'
import { createIdempotency, type Idempotency } from '../policy/idempotency.ts'
import { RateLimit } from '../policy/rate-limit.ts'
import { createResponseCache, type ResponseCache } from '../policy/response-cache.ts'
import { createRouteHealth, type Health } from '../policy/route-health.ts'
import { createLines, type Lines } from '../providers/transport/lines.ts'
import { assembleCounts } from './counts.ts'
import { assembleFarCache } from './far-cache.ts'
import type { Peers } from './peers.ts'
import type { Environment, StoreParts } from './store.ts'

/** A host of pictures redirects once or twice, to where they are stored. */
const pictureRedirectsMax = 3

/** What calls use and what outlives a reload: connections, memories, counts and queues. */
export type Calls = {
  guarded: GuardedFetch
  darkroom: Darkroom
  /** Connections to providers. */
  lines: Lines
  cache: ResponseCache
  recollection: Recollection
  health: Health
  rateLimit: RateLimit
  budgets: Budgets
  /** Writes the usage row of a call. */
  record: CallParts['record']
  idempotency: Idempotency
  leftCalls: LeftCalls
  uploads: Uploads | undefined
  /** To be called when no call is left. */
  close: () => Promise<void>
}

type Needed = Omit<Environment, 'secrets' | 'peers' | 'sleep' | 'random'> & {
  peers: Pick<Peers, 'redis'>
}

/**
 * Builds what calls use. A limit that is read by `limits()` changes with a reload; those of the
 * environment's settings hold until the process ends.
 */
export async function assembleCalls(
  environment: Needed,
  { store, secret }: Pick<StoreParts, 'store' | 'secret'>,
  limits: () => Config['limits'],
): Promise<Calls> {
  const { config, peers, events, budget, publicNet, clock, monotonic } = environment
  const { limits: first, uploadDir } = config
  const { redis } = peers
  const remembering = { secret, limits, events, monotonic }
  const farCache = redis && (await assembleFarCache(redis, remembering))
  const bytesMax = Math.floor(first.cacheBytesMax / workerCount(config))
  const cache = createResponseCache({ bytesMax, limits, far: farCache?.far, monotonic })
  const claim = cache.recallFar && farCache?.claimsWith(cache.recallFar)
  const fingerprintKey = secret.keyFor('fingerprints', fingerprintKeyBytes)
  const guarded = createGuardedFetch({
    redirectsMax: pictureRedirectsMax,
    connectionsMax: first.upstreamConnectionsMax,
    ...publicNet,
  })
  const { counts, close: closeCounts } = assembleCounts({ ...environment, limits, redis })
  const isOneOfSeveral = workerCount(config) > 1 || store.dialect === 'postgres'
  const onFault = events.faulted
  const idempotency = createIdempotency({ store, limits, clock, onFault, isOneOfSeveral })
  const budgets = createBudgets({ store, clock, limits: first })
  const reservations = sweepReservations({
    store,
    budgets,
    clock,
    intervalMs: first.reservationCheckIntervalMs,
    onAbandoned: events.reservationAbandoned,
    onSwept: (error) => events.worked('reservation_sweep', error),
  })
  const key = secret.keyFor('saved pictures', uploadsKeyBytes)
  return {
    guarded,
    darkroom: createDarkroom(first, budget),
    lines: createLines(monotonic),
    cache,
    recollection: createRecollection({ fingerprintKey, claim }),
    health: createRouteHealth({ limits, monotonic }),
    rateLimit: new RateLimit({ counts, defaults: limits, monotonic }),
    budgets,
    record: createLedger(store, first, events.recorded),
    idempotency,
    leftCalls: createLeftCalls(events.left),
    uploads:
      uploadDir === undefined ? undefined : createUploads(uploadDir, first, { key, monotonic }),
    close: async () => {
      reservations.close()
      await closeCounts()
      await guarded.close()
      await idempotency.close()
    },
  }
}
